// How the scripts of package.json run programs: visibly, and they exit as the program does unless it succeeds.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const cwd = fileURLToPath(new URL('../..', import.meta.url))

export const runNode = (...args) => run(process.execPath, args)
export const runNpm = (...args) => run('npm', args)

function run(program, args) {
  const { status, error } = spawnSync(program, args, { cwd, stdio: 'inherit' })
  if (error) console.error(error.message)
  if (status !== 0) process.exit(status ?? 1)
}
