import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { useEmbeddedPostgres } from '../../src/database/embedded.ts'
import { withMigrationLock } from '../../src/database/migrate.ts'
import { kill, testWithProcess as test } from '../support/processes.ts'

describe('the embedded PostgreSQL', { concurrent: true }, () => {
  test('that dies is named in the log with what to do', async ({ sandbox }) => {
    const service = await sandbox.start()
    expect(kill((await sandbox.postgresPid()) ?? 0, 'SIGKILL')).toBe(true)
    await service.until((text) => text.includes('the embedded PostgreSQL has stopped: start the service again'))
    expect((await fetch(`${service.base}/readyz`)).status).toBe(503)
    expect((await service.signal('SIGTERM')).code).toBe(0)
  })

  test('stops with the service on SIGHUP and SIGTERM, and the log has the begin and the end', async ({ sandbox }) => {
    const service = await sandbox.start()
    void service.signal('SIGHUP')
    await service.until((printed) => printed.includes('shutting down'))
    const { code, stdout } = await service.signal('SIGTERM')
    expect([code, await sandbox.postgresPid()]).toEqual([0, undefined])
    const lines = stdout.trim().split('\n').slice(-2)
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { msg: 'shutting down', signal: 'SIGHUP' },
      { msg: 'stopped' },
    ])
  })

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
})

describe('a DATA_DIR that cannot be used is one line with the way out', { concurrent: true }, () => {
  test.for(['file', 'file/below', '"', '$HOME', '`id`'])('%s', async (name, { sandbox }) => {
    writeFileSync(join(sandbox.dataDir, 'file'), '')
    const line = /^DATA_DIR \S+ cannot be used: [^\n]+\. Set DATA_DIR to another folder, or DATABASE_URL\.$/
    await expect(useEmbeddedPostgres(join(sandbox.dataDir, name))).rejects.toThrow(line)
  })

  test.skipIf(process.getuid?.() !== 0)("another user's (needs root)", async ({ sandbox, onTestFinished }) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'pet-store-other-'))
    onTestFinished(() => rmSync(dataDir, { recursive: true }))
    mkdirSync(join(dataDir, 'postgres'))
    chmodSync(dataDir, 0o755)
    const { code, stderr } = await sandbox.run('main.js', [], { DATA_DIR: dataDir }, { uid: 65534 })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^DATA_DIR \S+ cannot be used: it belongs to another user \(uid 0\)\. Set DATA_DIR [^\n]+\n/)
  })
})
