import cluster from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createService, type Service } from './service.ts'
import { type Config, version } from './config.ts'
import { databaseFailure } from './database/errors.ts'
import { openDatabaseServer } from './database/open.ts'
import { migrate, withMigrationLock } from './database/migrate.ts'
import { seed } from './database/seed.ts'
import { runProgram, traceSettings, UsageError } from './cli/program.ts'
import { TRUSTED_DOCUMENTS_OFF, readManifest, type TrustedDocuments } from './graphql/trusted-documents.ts'
import { developmentKey } from './auth/dev-key.ts'
import { createLogger, prettyStream, redactKeys } from './telemetry/logger.ts'
import type { Tracing } from './telemetry/tracing.ts'
import { gatherMetrics, onShutdown, runCluster } from './cluster.ts'

/** A start takes a few seconds; one that hangs does not keep a signal waiting for longer, in milliseconds. */
const START_TIMEOUT_MS = 20_000

/** Longest that the end waits for the last spans to be sent, in milliseconds. */
const TRACES_TIMEOUT_MS = 2_000

await runProgram(async (config) => {
  const log = createLogger(config.logLevel, await prettyStream(config))
  if (config.workers > 1 && cluster.isPrimary) process.exit(await runCluster(config, log))
  const starting = start(config, log)
  // A signal while it starts ends it as soon as it has: PostgreSQL is not left half made, nor running.
  endOnSignal(async () => {
    const started = await Promise.race([starting, sleep(START_TIMEOUT_MS)])
    if (!started) throw new UsageError('It was still starting, and was ended.')
    await started.end()
  })
  const { migrateUrl } = await starting
  if (migrateUrl) await migrateWhenReachable(migrateUrl, log)
})

/** Database, service, first words. @returns how to end it all, and the database that is still to be migrated, if one is */
async function start(config: Config, log: Logger): Promise<{ end(): Promise<void>; migrateUrl: string | undefined }> {
  const trusted = await readTrustedDocuments(config)
  const traces = await openTraces(log)
  const server = await openDatabaseServer(config)
  const service = createService({
    ...config,
    databaseUrl: server.url,
    trusted,
    tracer: traces?.tracer,
    log,
    ...(cluster.isWorker && { gatherMetrics }),
  })
  try {
    const devKey = server.embedded ? await prepare(server.url, service, config) : undefined
    if (!server.embedded) await warmUp(service)
    const port = await service.start({ port: config.port, host: config.host }).catch(explainListening(config))
    log.info({ port, host: config.host }, 'listening')
    if (devKey && (cluster.worker?.id ?? 1) === 1) console.log(welcome(port, devKey, config.dataDir))
  } catch (error) {
    await service.stop(0, 0)
    await server.release()
    throw error
  }
  return {
    migrateUrl: config.migrateOnStart && !server.embedded ? server.url : undefined,
    async end() {
      await service.stop(config.drainDelayMs, config.drainTimeoutMs)
      await Promise.all([server.release(), traces?.stop(TRACES_TIMEOUT_MS)])
    },
  }
}

/** What is wrong with an address to listen on, in one line that names the variables. */
function explainListening({ host, port, metricsPort }: Config): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    const where = 'port' in error && error.port === metricsPort ? `METRICS_PORT ${metricsPort}` : `PORT ${port}`
    const why =
      error.code === 'EADDRINUSE' ? 'the port is taken: set another, or end the process that has it' : error.message
    throw new UsageError(`${where}, HOST ${host}: ${why}`)
  }
}

/** Makes the embedded database ready for a first look. @returns the development key */
async function prepare(url: string, { database, keys }: Service, config: Config): Promise<string> {
  if (config.migrateOnStart) await migrate(url)
  return withMigrationLock(url, async () => {
    await seed(database.prisma)
    return developmentKey(keys, config.dataDir)
  })
}

/** Prisma's first query takes the processor for a tenth of a second: before requests wait for it, whatever comes of it. */
async function warmUp({ database: { prisma } }: Service): Promise<void> {
  await prisma.animal.findFirst({ where: { id: 0n } }).catch(() => undefined)
}

async function readTrustedDocuments({ trustedDocuments: { mode, file } }: Config): Promise<TrustedDocuments> {
  if (mode === 'off' || !file) return TRUSTED_DOCUMENTS_OFF
  const byHash = await readManifest(file).catch((error: Error) => {
    throw new UsageError(error.message)
  })
  return { mode, byHash }
}

/** Spans of all that is served, when the environment wants them; else nothing of OpenTelemetry's SDK is even loaded. */
async function openTraces(log: Logger): Promise<Tracing | undefined> {
  const { warnings, ...settings } = traceSettings()
  for (const warning of warnings) log.warn(warning)
  if (!settings.exporters.length) return undefined
  const { startTracing: startTraces } = await import('./telemetry/tracing.ts')
  return startTraces({ ...settings, version, log, redact: redactKeys })
}

function welcome(port: number, devKey: string, dataDir: string): string {
  const base = `http://localhost:${port}`
  return `
  Pet store ${version} is ready.

    GraphiQL   ${base}/graphql#key=${devKey}
    REST       ${base}/v1/pets
    Docs       ${base}/docs
    Key        ${dataDir}/dev-key   (development only; the GraphiQL link contains it)

  Ctrl-C ends it.
`
}

/** SIGTERM or SIGINT ends the process in order, or the supervisor of several; a second signal ends it at once. */
function endOnSignal(end: () => Promise<void>): void {
  let ending = false
  function begin(): void {
    if (ending) return
    ending = true
    end().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error instanceof UsageError ? error.message : error)
        process.exit(1)
      },
    )
  }
  let signalled = false // the supervisor's word does not count: a terminal signals it and its workers alike
  function onSignal(): void {
    if (signalled) process.exit(1)
    signalled = true
    begin()
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  onShutdown(begin)
}

/**
 * Migrates as soon as the database can be reached; until then `/readyz` says 503. It goes on saying so after a migration
 * that fails, which is not tried again: what is served already is served on.
 */
async function migrateWhenReachable(url: string, log: Logger): Promise<void> {
  for (;;) {
    try {
      const applied = await migrate(url)
      return log.info({ applied }, 'schema is current')
    } catch (error) {
      if (!databaseFailure(error)) return log.error({ err: error }, 'migration failed: not ready until it is applied')
      log.warn({ err: error }, 'database not reachable, trying again')
      await sleep(1_000)
    }
  }
}
