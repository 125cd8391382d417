import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { atMost, type Defer, info, type Measurement, onQuietMachine, quantile } from './assertions.ts'
import { issueKey, type TestDatabase } from './cluster.ts'
import { inDatabase } from '../support/postgres.ts'
import { type Instance, PATIENT, startInstance } from './instance.ts'

interface Sizes {
  /** Streams of one key that resume near the beginning, each at another animal. */
  resuming: number
  /** Streams that read nothing. */
  unreadStreams: number
}

/** More than the feed keeps, with names of a kilobyte. */
const ADD_ANIMALS = `INSERT INTO animal (name, category_id) SELECT repeat('😀', 255), 1 FROM generate_series(1, 100000)`

const EVENT = 'event: next'

/** How many animals the stream of another key receives. */
const RESUMED = 1_000
const MAX_SLOWDOWN = 8

/** Half of them keep a part of 16 KB, beside what an idle stream takes. Of the others, 8 MiB are kept. */
const MAX_UNREAD_MB = 200

/** How long the memory is watched, in milliseconds. */
const WATCH_MS = 10_000

const UNREAD = fileURLToPath(new URL('./unread-streams.py', import.meta.url))

/** Streams that resume from the beginning, and streams that read nothing: what another key notices, and the memory. */
export async function measureResume(defer: Defer, database: TestDatabase, sizes: Sizes): Promise<Measurement[]> {
  await inDatabase(database.url, (sql) => sql.query(ADD_ANIMALS))
  const preload = new URL('./collect-garbage.mjs', import.meta.url).href
  const limits = { ...PATIENT.limits, writeTimeoutMs: 600_000 }
  const env = { ...PATIENT, limits, NODE_OPTIONS: `--import=${preload}` }
  const instance = await startInstance(defer, { DATABASE_URL: database.url, ...env })
  const other = await issueKey(database.url)
  const resume = async () => quantile(await repeat(7, () => resumeOnce(instance.port, other)), 0.5)
  await resume() // warms up
  const quietMs = await resume()
  const beforeMb = await collectedMb(instance)
  const streams = Array.from({ length: sizes.resuming }, (_, n) => openAfter(instance.port, database.key, n * 10))
  streams.forEach((stream) => stream.resume())
  await sleep(500) // all of them are being read
  const besideMs = await resume()
  streams.forEach((stream) => stream.destroy())
  return [
    info(`another key resumes ${RESUMED} animals, alone`, quietMs, 'ms'),
    info(`… beside ${sizes.resuming} streams that resume`, besideMs, 'ms'),
    onQuietMachine(atMost('… times as slow', besideMs / quietMs, MAX_SLOWDOWN)),
    ...(await measureUnread(defer, instance, database.key, sizes.unreadStreams, beforeMb)),
  ]
}

async function measureUnread(
  defer: Defer,
  instance: Instance,
  key: string,
  count: number,
  beforeMb: number,
): Promise<Measurement[]> {
  const name = `${count} streams that read nothing: memory grew by`
  if (spawnSync('python3', ['--version']).status !== 0) return [info(name, 'not measured: there is no python3')]
  const client = spawn('python3', [UNREAD, String(instance.port), key, String(count)])
  defer(() => void client.kill())
  await once(client.stdout, 'data')
  let highestMb = 0
  for (const endMs = performance.now() + WATCH_MS; performance.now() < endMs; await sleep(200))
    highestMb = Math.max(highestMb, await instance.residentMb())
  return [
    atMost(name, (await collectedMb(instance)) - beforeMb, MAX_UNREAD_MB, 'MB'),
    info('… at most, with garbage', highestMb - beforeMb, 'MB'),
  ]
}

/** Memory after a garbage collection: what is kept. */
async function collectedMb(instance: Instance): Promise<number> {
  for (let n = 0; n < 3; n++) {
    process.kill(instance.pid, 'SIGUSR2')
    await sleep(500) // the service says nothing about it
  }
  return instance.residentMb()
}

async function repeat<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let n = 0; n < times; n++) results.push(await work())
  return results
}

function openAfter(port: number, key: string, id: number) {
  const after = Buffer.from(`all:${id}`).toString('base64url')
  const query = `subscription { petCreated(after: "${after}") { cursor node { id name categoryId status } } }`
  const body = JSON.stringify({ query })
  const head = `POST /graphql HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n`
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {})
  socket.write(head + body)
  return socket
}

/** @returns how long the first animals take to arrive, in milliseconds */
async function resumeOnce(port: number, key: string): Promise<number> {
  const sinceMs = performance.now()
  const stream = openAfter(port, key, 0).setEncoding('latin1')
  let [received, rest] = [0, '']
  while (received < RESUMED) {
    const parts = (rest + String((await once(stream, 'data'))[0])).split(EVENT)
    received += parts.length - 1
    rest = (parts.at(-1) ?? '').slice(1 - EVENT.length) // the beginning of one, perhaps
  }
  stream.destroy()
  return performance.now() - sinceMs
}
