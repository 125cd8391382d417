import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BenchRequest } from '../workloads.ts'
import type { Load, LoadResult } from './load.ts'

/** What the script below prints. */
interface Report {
  microseconds: number
  requests: number
  not2xx: number
  errors: number
  p50: number
  p99: number
  statuses: Record<number, number>
}

/** Generates load with wrk and a Lua script of the requests. @param dir folder for the script */
export async function runWrk(
  { server, requests, connections, seconds, statuses }: Load,
  dir: string,
): Promise<LoadResult> {
  const file = scriptFile(dir, server.key, requests, statuses ?? false)
  const options = ['--threads', '1', '--timeout', '10s', '--connections', String(connections)]
  const { stdout } = await promisify(execFile)('wrk', [
    ...[...options, '--duration', `${seconds}s`, '--script', file],
    server.base,
  ])
  const json = /^REPORT (.*)$/m.exec(stdout)?.[1]
  if (!json) throw new Error(`wrk printed no report: ${stdout}`)
  const report = JSON.parse(json) as Report // from the script below
  return {
    seconds: report.microseconds / 1e6,
    statuses: statuses ? report.statuses : { 200: report.requests - report.not2xx, 0: report.not2xx },
    errors: report.errors,
    p50Ms: report.p50 / 1_000,
    p99Ms: report.p99 / 1_000,
  }
}

/** Many requests go into a file beside the script, one a line; one request is the script's own. */
function scriptFile(dir: string, key: string, requests: BenchRequest[], statuses: boolean): string {
  const [first] = requests
  if (!first) throw new Error('There are no requests')
  const lines = requests.map(({ path, body }) => `${path}\t${body ?? ''}\n`).join('')
  const script = [
    `wrk.method = ${lua(first.method)}`,
    `wrk.headers["Authorization"] = ${lua(`Bearer ${key}`)}`,
    ...(first.body ? ['wrk.headers["Content-Type"] = "application/json"'] : []),
    takeTurns,
    ...(statuses ? [countStatuses] : []),
    report,
  ].join('\n')
  const hash = createHash('sha256').update(script).update(lines).digest('hex').slice(0, 16)
  const name = join(dir, hash)
  if (!existsSync(`${name}.lua`)) {
    writeFileSync(`${name}.txt`, lines)
    writeFileSync(`${name}.lua`, script.replace('REQUESTS', lua(`${name}.txt`)))
  }
  return `${name}.lua`
}

function lua(text: string): string {
  return JSON.stringify(text) // of letters, digits and the like, which both write the same way
}

/** Requests are formatted once, before the first is sent. */
const takeTurns = `
function init()
  local made = {}
  for line in io.lines(REQUESTS) do
    local path, body = line:match("^(.-)\\t(.*)$")
    wrk.path, wrk.body = path, body ~= "" and body or nil
    made[#made + 1] = wrk.format()
  end
  if #made == 1 then return end
  local turn = 0
  request = function()
    turn = turn % #made + 1
    return made[turn]
  end
end`

/** GraphQL may say 200 and then tell in the body that it could not. */
const countStatuses = `
statuses = {}
function response(status, headers, body)
  local name = body:find('"errors":', 1, true) and body:match('"status":(%d%d%d)') or tostring(status)
  statuses[name] = (statuses[name] or 0) + 1
end`

const report = `
local threads = {}
function setup(thread) threads[#threads + 1] = thread end

function done(summary, latency)
  local counts = {}
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get("statuses") or {}) do counts[#counts + 1] = string.format('"%s":%d', status, count) end
  end
  local e = summary.errors
  io.write(string.format(
    'REPORT {"microseconds":%d,"requests":%d,"not2xx":%d,"errors":%d,"p50":%d,"p99":%d,"statuses":{%s}}\\n',
    summary.duration, summary.requests, e.status, e.connect + e.read + e.write + e.timeout,
    latency:percentile(50), latency:percentile(99), table.concat(counts, ",")
  ))
end`
