import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { useEmbeddedPostgres } from '../../src/database/embedded.ts'
import { withMigrationLock } from '../../src/database/migrate.ts'
import { OperatorError } from '../../src/operator-error.ts'
import { bearer } from '../support/harness.ts'
import { kill, testWithProcess as test } from '../support/processes.ts'

const isRoot = process.getuid?.() === 0

describe('the embedded PostgreSQL', { concurrent: true }, () => {
  test('that dies is named in the log with what to do, and loses nothing', async ({ sandbox }) => {
    const service = await sandbox.start()
    const key = readFileSync(join(sandbox.dataDir, 'dev-key'), 'utf8').trim()
    expect(kill((await sandbox.postgresPid()) ?? 0, 'SIGKILL')).toBe(true)
    await service.until((text) => text.includes('the embedded PostgreSQL has stopped: start the service again'))
    expect((await fetch(`${service.base}/readyz`)).status).toBe(503)
    expect((await service.signal('SIGTERM')).code).toBe(0)

    const { base } = await sandbox.start()
    expect((await fetch(`${base}/v1/pets`, { headers: bearer(key) })).status).toBe(200)
  })

  test.for(['SIGTERM', 'SIGHUP'] as const)(
    'is stopped with the service on %s, also if that arrives twice, and the log has the begin and the end',
    async (signal, { sandbox }) => {
      const service = await sandbox.start()
      void service.signal(signal)
      await service.until((printed) => printed.includes('shutting down'))
      const { code, stdout } = await service.signal(signal)
      expect([code, await sandbox.postgresPid()]).toEqual([0, undefined])
      const lines = stdout.trim().split('\n').slice(-2)
      expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
        { msg: 'shutting down', signal },
        { msg: 'stopped' },
      ])
    },
  )

  test('whose migration waits for that of another process says so, and ends with SIGTERM', async ({ sandbox }) => {
    await sandbox.initialise()
    const { url, release } = await useEmbeddedPostgres(sandbox.dataDir)
    await withMigrationLock(url, async () => {
      const service = sandbox.launch('main.js')
      await service.until((text) => text.includes('waiting for the migration of another process'))
      expect(await service.signal('SIGTERM')).toMatchObject({ code: 0, stderr: '' })
    })
    await release()
  })

  test('removes what a start that was killed has left, not what another start is making', async ({ sandbox }) => {
    await sandbox.initialise()
    const own = `postgres.new-${process.pid}`
    const ofRunning = `postgres.new-${process.ppid}`
    const ofKilled = `postgres.new-${spawnSync('true').pid}`
    for (const folder of [own, ofRunning, ofKilled].map((name) => join(sandbox.dataDir, name))) {
      mkdirSync(folder)
      writeFileSync(`${folder}.password`, '')
      writeFileSync(join(folder, 'PG_VERSION'), '')
    }
    await (await useEmbeddedPostgres(sandbox.dataDir)).release()
    const left = readdirSync(sandbox.dataDir).filter((name) => name.includes('.new-'))
    expect(left).toEqual([ofRunning, `${ofRunning}.password`])
  })
})

describe('a DATA_DIR that cannot be used is one line with the way out', { concurrent: true }, () => {
  const wayOut = 'Set DATA_DIR to another folder, or DATABASE_URL.'

  test.for(['file', 'file/below', '"', '$HOME', '`id`'])('%s', async (name, { sandbox }) => {
    writeFileSync(join(sandbox.dataDir, 'file'), '')
    const dataDir = join(sandbox.dataDir, name)
    const why = name.startsWith('file') ? '' : 'a shell reads' // and would change the path
    const failure: unknown = await useEmbeddedPostgres(dataDir).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(OperatorError)
    const { message } = failure as OperatorError
    expect(message).toMatch(/^[^\n]+$/) // one line
    expect(message).toContain(`DATA_DIR ${dataDir} cannot be used: ${why}`)
    expect(message.endsWith(wayOut)).toBe(true)
  })

  test.skipIf(!isRoot)("another user's (needs root)", async ({ sandbox, onTestFinished }) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'pet-store-other-'))
    onTestFinished(() => rmSync(dataDir, { recursive: true }))
    mkdirSync(join(dataDir, 'postgres'))
    chmodSync(dataDir, 0o755)
    const { code, stderr } = await sandbox.run('main.js', [], { DATA_DIR: dataDir }, { uid: 65534 })
    expect(code).toBe(1)
    expect(stderr).toBe(`DATA_DIR ${dataDir} cannot be used: it belongs to another user (uid 0). ${wayOut}\n`)
  })
})
