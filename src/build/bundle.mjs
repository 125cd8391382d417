// Bundles programs with their libraries, so that Node loads thirty files instead of a thousand: a start takes half of the
// CPU time, and a deployment needs no node_modules/. It does not check types: `npm run lint` does.
import { spawn } from 'node:child_process'
import { build, watch } from 'rolldown'
import { replace, root } from './files.mjs'

/** @param programs from the name of each program in `dir` to its source */
const options = (programs, dir) => ({
  cwd: root,
  input: programs,
  platform: 'node',
  external: ['pg-native'], // an optional dependency of pg that is not installed
  // Unless NODE_ENV is production, GraphQL.js also compares the names of classes, which takes 2 % of the time of a request.
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  output: { dir, format: 'esm', sourcemap: true, sourcemapExcludeSources: true, chunkFileNames: '[name].js' },
})

/** Bundles, or prints an error and exits with code 1. */
export async function bundle(programs, dir) {
  const { output } = await build({ ...options(programs, dir), write: false }).catch((error) => {
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  })
  for (const { fileName, code, source } of output) replace(`${dir}/${fileName}`, code ?? source)
}

/** Bundles on every change. Starts the program after the first bundle; Node restarts it when its files change. */
export async function bundleAndRun(programs, dir, program) {
  const watcher = watch(options(programs, dir))
  let child
  watcher.on('event', ({ code, error, result }) => {
    if (code === 'ERROR') console.error(error.message)
    void result?.close()
    if (code !== 'BUNDLE_END' || child) return
    const args = ['--watch', '--enable-source-maps', program]
    child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' }).on('exit', () => watcher.close())
  })
  process.on('SIGINT', () => {}) // the terminal also signals the program, whose exit ends this process
}
