import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { migrate } from '../../src/database/migrate.ts'
import { VERSION } from '../../src/project.ts'
import { proxyPrograms } from '../support/proxies.ts'
import { definePart, type Defer, info } from './assertions.ts'
import { issueKey, startCluster } from './cluster.ts'
import { inDatabase } from '../support/postgres.ts'
import { today } from './instance.ts'
import { createReplays } from './replays.ts'
import { rollUnderLoad } from './rolling.ts'
import { readStored } from './stream-audit.ts'

const run = promisify(execFile)

/**
 * Upgrades two instances of the last release one after the other, and goes back, while clients send requests and read
 * streams. Before the first upgrade the migrations of today's build are applied, and a column is added that neither knows.
 * While both run, each repeats creations of the other one with their idempotency keys.
 */
export const upgrade = definePart({ rounds: 4, instances: 2, rate: 200, streams: 30 }, async (defer, sizes) => {
  if (!proxyPrograms.some(({ name, installed }) => installed && name === 'haproxy'))
    return [info('upgrade', 'SKIPPED: haproxy is not installed (apt-get install haproxy)')]
  const { commit, build: release } = await buildRelease(defer)
  const { url } = await startCluster(defer)
  await run(process.execPath, [join(release, 'dist/cli/migrate.js'), 'deploy'], { env: { DATABASE_URL: url } })
  const key = await issueKey(url)
  const replays = createReplays(key)
  async function buildOf(round: number) {
    if (round === 1) {
      await migrate(url)
      // Stands for a later migration.
      await inDatabase(url, (client) => client.query('ALTER TABLE animal ADD COLUMN later TEXT'))
    }
    return round % 2 ? today : release
  }
  const rounds = { buildOf, betweenRestarts: replays.send }
  const measurements = await rollUnderLoad(defer, 'haproxy', { url, key }, sizes, rounds)
  return [info('the last release', commit.slice(0, 7)), ...measurements, ...replays.audit(await readStored(url))]
})

/** Builds CHAOS_RELEASE, which git knows, or the release before today's version, in a temporary folder. */
async function buildRelease(defer: Defer): Promise<{ commit: string; build: string }> {
  const git = async (...args: string[]) => (await run('git', args, { cwd: today })).stdout.trim()
  const lastCommit = (change: string, until = 'HEAD') =>
    git('log', '-1', '--format=%H', change, until, '--', 'package.json')
  const { CHAOS_RELEASE } = process.env
  const commit = CHAOS_RELEASE
    ? await git('rev-parse', CHAOS_RELEASE)
    : await lastCommit('-G"version":', `${await lastCommit(`-S"version": "${VERSION}"`)}^`)
  const build = await mkdtemp(join(tmpdir(), 'pet-store-release-'))
  defer(() => rm(build, { recursive: true, force: true }))
  const script =
    'git archive "$1" | tar -x -C "$2" && cd "$2" && npm ci --no-audit --no-fund && npm run build -- --tests'
  await run('bash', ['-eo', 'pipefail', '-c', script, 'build', commit, build], { cwd: today })
  return { commit, build }
}
