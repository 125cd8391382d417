// node kill-processes.mjs FOLDER            Kills every process whose working directory is in the folder (Linux).
// node kill-processes.mjs FOLDER --at-end   Does so when its input ends, which it does however its parent process
//                                           ends, also by Ctrl-C; then removes the folder.
import { readdirSync, readlinkSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const GRACE_MS = 2_000
const [folder, mode] = process.argv.slice(2)

if (mode === '--at-end') {
  await new Promise((resolve) => process.stdin.resume().on('close', resolve))
  // PostgreSQL removes its shared memory on SIGQUIT (immediate shutdown), and is lost without Patroni.
  await signal('SIGQUIT', GRACE_MS)
}
await signal('SIGKILL', Number.POSITIVE_INFINITY)
if (mode === '--at-end') rmSync(folder, { recursive: true, force: true })

async function signal(name, timeoutMs) {
  const deadline = performance.now() + timeoutMs
  for (let pids = findProcesses(); pids.length && performance.now() < deadline; pids = findProcesses()) {
    for (const pid of pids) ignoreErrors(() => process.kill(pid, name))
    await sleep(20)
  }
}

function findProcesses() {
  const pids = readdirSync('/proc').map(Number).filter(Boolean)
  return pids.filter((pid) => `${ignoreErrors(() => readlinkSync(`/proc/${pid}/cwd`))}/`.startsWith(`${folder}/`))
}

/** Processes may exit at any moment; those of other users cannot be read. */
function ignoreErrors(action) {
  try {
    return action()
  } catch {
    return undefined
  }
}
