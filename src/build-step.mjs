// Steps of a build that are skipped while nothing changed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** What every step depends on: npm writes the second file at each installation. */
const PACKAGES = ['package.json', 'package-lock.json', 'node_modules/.package-lock.json']

/** Files that change while they are built are built again, but not forever. */
const MAX_RUNS = 3

/**
 * Runs a step of a build, unless neither its inputs nor its outputs have changed since it last completed. Contents are
 * compared, not times: a checkout or a copy may make a file older. The stamp is written last and describes the outputs
 * that the step returned, so an interrupted step, another build at the same time or a manual change is noticed.
 * Paths are relative to the project.
 * @param step.stamp file that records the inputs and outputs
 * @param step.inputs returns the paths of the inputs
 * @param step.run returns the outputs, or a promise of them, as a map from path to content. An output of the previous run
 *   that is missing in it is deleted
 */
export async function runStep({ stamp, inputs, run }) {
  for (let runs = 0; ; runs++) {
    const paths = inputs()
    const [fingerprint, changes] = [fingerprintOf(paths), changeTimes(paths)]
    const previous = readStamp(stamp)
    if (previous.inputs === fingerprint && isIntact(previous.outputs)) return
    if (runs === MAX_RUNS) fail('The files change while they are built.\n')
    const outputs = await run()
    const isStable = changeTimes(inputs()) === changes
    for (const path of Object.keys(previous.outputs)) if (!outputs.has(path)) rmSync(join(root, path), { force: true })
    for (const [path, content] of outputs) replace(path, content)
    const hashes = Object.fromEntries([...outputs].map(([path, content]) => [path, sha256(content)]))
    replace(stamp, JSON.stringify({ inputs: isStable ? fingerprint : '', outputs: hashes }))
  }
}

function fail(text) {
  process.stderr.write(text)
  process.exit(1)
}

/** Runs a Node program in the project; exits as it does unless it succeeds. */
export function runNode(...args) {
  runVisibly(process.execPath, args)
}

export function runNpm(...args) {
  runVisibly('npm', args)
}

function runVisibly(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit' })
  if (error) fail(`${error.message}\n`)
  if (status !== 0) process.exit(status ?? 1)
}

/** The files of a folder and of its subfolders whose names match. */
export function list(folder, pattern) {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => pattern.test(name)).map((name) => join(folder, name))
}

function fingerprintOf(paths) {
  const files = [...new Set([...PACKAGES, ...paths])].sort()
  return sha256(JSON.stringify(files.map((path) => [path, sha256(read(path) ?? '')])))
}

/** The ctime of each file, which no program can set: it differs when a file changed during a run. */
function changeTimes(paths) {
  const times = paths.map((path) => [path, statSync(join(root, path), { throwIfNoEntry: false })?.ctimeMs])
  return JSON.stringify(times.sort())
}

function isIntact(outputs) {
  return Object.entries(outputs).every(([path, hash]) => sha256(read(path) ?? '') === hash)
}

function readStamp(stamp) {
  try {
    return JSON.parse(read(stamp) ?? '')
  } catch {
    return { inputs: '', outputs: {} }
  }
}

/** Replaces a file atomically: a program that starts at the same time must not read half of it. */
function replace(path, content) {
  if (read(path)?.equals(Buffer.from(content))) return
  const file = join(root, path)
  const temporary = `${file}.${process.pid}`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(temporary, content)
  renameSync(temporary, file)
}

/** @returns undefined for a file that does not exist */
export function read(path) {
  try {
    return readFileSync(join(root, path))
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function sha256(content) {
  return createHash('sha256').update(content).digest('hex')
}
