import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from './config/config.ts'
import { databaseFailure } from './database/failures.ts'
import { type LockOptions, migrate } from './database/migrate.ts'
import { resolveDatabaseServer } from './database/database-server.ts'
import { prepareDevelopmentDatabase } from './development.ts'
import { readManifest } from './graphql/plugins/trusted-documents.ts'
import { OperatorError } from './lib/operator-error.ts'
import { VERSION } from './project.ts'
import { RESOURCES } from './resources.ts'
import { createService, type Service, type ServiceOptions } from './service.ts'
import { createThrottledLog } from './telemetry/logger.ts'
import { startTracing } from './telemetry/tracing.ts'

/** A second signal within this time, in milliseconds, is from the same Ctrl-C, which `npm` and `node --watch` pass on. */
const SAME_SIGNAL_MS = 2_000

interface InstanceOptions extends Pick<ServiceOptions, 'config' | 'log' | 'limits'> {
  env: NodeJS.ProcessEnv
}

/** Starts the service in this process and runs it until a signal. */
export async function runInstance(options: InstanceOptions): Promise<void> {
  const { log } = options
  const shutdown = new AbortController()
  const signalled = receiveSignal()
  void signalled.then(() => shutdown.abort())
  const onWait = () => log.info('waiting for the migration of another process')
  const stop = await start(options, { onWait, signal: shutdown.signal }).catch((error: Error) => {
    if (error.name !== 'AbortError') throw error
  })
  log.info({ signal: await signalled }, 'shutting down')
  await stop?.()
  log.info('stopped')
}

/** @returns the first of SIGTERM, SIGINT and SIGHUP. After SAME_SIGNAL_MS, SIGTERM and SIGINT end the process at once */
function receiveSignal(): Promise<string> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined
    const onSignal = (signal: string) => {
      firstAtMs ??= performance.now()
      resolve(signal)
      if (signal !== 'SIGHUP' && performance.now() - firstAtMs > SAME_SIGNAL_MS) process.exit(1)
    }
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onSignal)
  })
}

/** Opens the database, builds the service, listens and prints the banner. @returns a function that shuts all of it down */
async function start({ config, env, log, limits }: InstanceOptions, wait: LockOptions): Promise<() => Promise<void>> {
  const { TRUSTED_DOCUMENTS: mode, TRUSTED_DOCUMENTS_FILE: file, PORT, HOST } = config
  const trusted = mode === 'off' || !file ? undefined : { mode, byHash: await readManifest(file) }
  const databaseServer = await resolveDatabaseServer(config, () =>
    log.error('the embedded PostgreSQL has stopped: start the service again'),
  )
  const { url, embedded } = databaseServer
  let service: Service | undefined
  let tracing: Awaited<ReturnType<typeof startTracing>>
  const stop = async (drainDelayMs: number, drainTimeoutMs: number) => {
    await service?.stop(drainDelayMs, drainTimeoutMs)
    await Promise.all([databaseServer.release(), tracing?.stop()])
  }
  try {
    tracing = await startTracing(env, log)
    const { recordSpan } = tracing ?? {}
    service = createService({ resources: RESOURCES, config, limits, databaseUrl: url, log, trusted, recordSpan })
    const devKey = embedded ? await prepareDevelopmentDatabase(url, service, config, wait) : undefined
    // Prisma's first query takes 100 ms of CPU time, so it runs before traffic arrives. Its failure does not matter.
    if (!devKey) await service.database.prisma.apiKey.findFirst({ select: { id: true } }).catch(() => undefined)
    const port = await service.start({ port: PORT, host: HOST }).catch((error: NodeJS.ErrnoException) => {
      const inUse = 'the port is in use: set another one, or stop the process that uses it'
      throw new OperatorError(`PORT ${PORT}, HOST ${HOST}: ${error.code === 'EADDRINUSE' ? inUse : error.message}`)
    })
    log.info({ port, host: HOST }, 'listening')
    if (devKey || process.stdout.isTTY) console.log(startupBanner(port, devKey, config))
    if (config.MIGRATE_ON_START && !embedded) void migrateWhenReachable(url, log, wait)
    return () => stop(config.DRAIN_DELAY_MS, config.DRAIN_TIMEOUT_MS)
  } catch (error) {
    await stop(0, 0)
    throw error
  }
}

function startupBanner(port: number, devKey: string | undefined, { DATA_DIR, TRUSTED_DOCUMENTS }: Config): string {
  const base = `http://localhost:${port}`
  const withKey = devKey ? `#key=${devKey}` : ''
  const graphql = TRUSTED_DOCUMENTS === 'only' ? `GraphQL    ${base}/graphql` : `GraphiQL   ${base}/graphql${withKey}`
  return `
  Pet store ${VERSION} is ${devKey ? 'ready' : 'listening'}.

    ${graphql}
    REST       ${base}/v1/pets
    Docs       ${base}/docs${withKey}
    Key        ${devKey ? `${DATA_DIR}/dev-key   (development only; both links contain it)` : 'node dist/cli/keys.js create --name NAME'}

  Press Ctrl-C to stop.
`
}

/** Applies migrations, and tries again while the database is unavailable. After any other failure `/readyz` stays 503. */
async function migrateWhenReachable(url: string, log: Logger, { onWait }: LockOptions): Promise<void> {
  const warn = createThrottledLog(log, 60_000)
  for (;;) {
    try {
      const applied = await migrate(url, { onWait })
      return log.info({ applied }, 'schema is up to date')
    } catch (error) {
      if (!databaseFailure(error)) return log.error({ err: error }, 'migration failed: not ready until it is applied')
      warn('migration failed: trying again every second', { err: error })
      await sleep(1_000)
    }
  }
}
