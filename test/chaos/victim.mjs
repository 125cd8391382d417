// A client in a process of its own, so that no other work delays it: node victim.mjs PORT KEY SECONDS
// Sends 100 requests a second, and prints their median time in milliseconds and the number of those that are not 200.
import { Agent, request } from 'node:http'

const [port, key, seconds] = process.argv.slice(2)
const RATE = 100
const total = RATE * Number(seconds)
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const times = []
let [sent, rejected] = [0, 0]
const beganAtMs = performance.now()

function send() {
  const sentAtMs = performance.now()
  const end = (status) => {
    if (status !== 200) rejected++
    if (times.push(performance.now() - sentAtMs) < total) return
    times.sort((a, b) => a - b)
    console.log(JSON.stringify({ p50Ms: times[total / 2], rejected }))
    process.exit()
  }
  const headers = { Authorization: `Bearer ${key}` }
  request({ agent, host: '127.0.0.1', port, path: '/v1/pets?limit=1', headers }, (res) =>
    res.resume().on('end', () => end(res.statusCode)),
  )
    .on('error', () => end(0))
    .end()
}

setInterval(() => {
  for (const due = Math.min(total, ((performance.now() - beganAtMs) * RATE) / 1_000); sent < due; sent++) send()
}, 5)
