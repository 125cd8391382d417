// Bundles programs with their libraries, so that Node loads thirty files instead of a thousand: a start takes half of the
// CPU time, and a deployment needs no node_modules/. Types are not checked: `npm run lint` does.
import { spawn } from 'node:child_process'
import { root, runStep } from './build-step.mjs'

/** Loaded by Node where they are installed: pino-pretty prints the log of `npm run dev`, pg-native is an option of pg. */
const EXTERNAL = ['pino-pretty', 'pg-native']

const inputOptions = ({ programs }) => ({
  cwd: root,
  input: programs,
  platform: 'node',
  external: EXTERNAL,
})
const outputOptions = ({ dir }) => ({ dir, format: 'esm', sourcemap: true, chunkFileNames: '[name].js' })

/**
 * Bundles unless the output is fresh; prints an error and exits with code 1. Paths are relative to the project.
 * @param options.programs from the name of each program in `dir` to its source
 * @param options.dir folder of the output
 * @param options.sources returns the paths of all sources
 */
export function bundle(options) {
  return runStep({
    stamp: `${options.dir}/.bundle.json`,
    inputs: () => ['src/build-bundle.mjs', ...options.sources()],
    async run() {
      const { rolldown } = await import('rolldown')
      const build = await rolldown(inputOptions(options))
      const { output } = await build.generate(outputOptions(options)).catch((error) => {
        process.stderr.write(`${error.message}\n`)
        process.exit(1)
      })
      await build.close()
      return new Map(output.map((file) => [`${options.dir}/${file.fileName}`, file.code ?? file.source]))
    },
  })
}

/** Bundles on every change. Starts a program after the first time; Node restarts it when its files change. */
export async function bundleAndRun(options, program) {
  const { watch } = await import('rolldown')
  const watcher = watch({ ...inputOptions(options), output: outputOptions(options) })
  let child
  watcher.on('event', ({ code, error, result }) => {
    if (code === 'ERROR') console.error(error.message)
    void result?.close()
    if (code !== 'BUNDLE_END' || child) return
    const args = ['--watch', '--enable-source-maps', program]
    child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' }).on('exit', () => watcher.close())
  })
  process.on('SIGINT', () => {}) // the terminal signals the program, too
}
