import { describe, expect, onTestFinished, vi } from 'vitest'
import { pruneIdempotencyKeys } from '../../src/store/idempotency.ts'
import { type TestService, testWithService as test, withClient } from '../support/harness.ts'
import { countBlocked } from '../support/locks.ts'
import { waitUntil } from '../support/timeouts.ts'

const pet = { name: 'Rex', categoryId: 1, status: 'sold' }
const idempotencyKey = (key: string) => ({ 'Idempotency-Key': key })
const count = async (service: TestService) => (await service.graphql('{ pets { totalCount } }')).data?.['pets']

describe('an Idempotency-Key', () => {
  test('replays for either API, whatever the order of members, white space and unknown members; another body is 422 [W13]', async ({
    service,
  }) => {
    expect((await service.post({ name: '' }, idempotencyKey('k'))).status).toBe(400) // which does not use it
    const first = await service.post('{"name":"x","categoryId":9007199254740993}', idempotencyKey('k'))
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null])
    const replay = await service.post('{"x":1, "categoryId":9007199254740993, "name":"x"}', idempotencyKey('k'))
    expect(await replay.text()).toBe('{"id":1,"name":"x","categoryId":9007199254740993}')
    for (const body of [
      ...['{"name":"y","categoryId":9007199254740993}', '{"name":"x","categoryId":9007199254740992}'],
      '{"name":"x","categoryId":9007199254740993,"status":"sold"}',
    ]) {
      const other = await service.post(body, idempotencyKey('k'))
      expect(await other.json()).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED', status: 422 })
    }
    const create = (name: string) => {
      const input = `{ name: "${name}", categoryId: "9007199254740993" }`
      return service.graphql(`mutation { createPet(input: ${input}, idempotencyKey: "k") { id } }`)
    }
    expect((await create('x')).data).toEqual({ createPet: { id: '1' } })
    expect((await create('y')).errors?.[0]?.extensions).toEqual({ code: 'IDEMPOTENCY_KEY_REUSED', status: 422 })
    expect(await count(service)).toEqual({ totalCount: 1 })
  })

  test('creates one animal: many concurrent retries have the same 201 response, with Idempotent-Replayed [W13]', async ({
    service,
  }) => {
    const first = await service.post(pet, idempotencyKey('k'))
    const [location, text] = [first.headers.get('location'), await first.text()]
    expect([location, first.headers.get('idempotent-replayed')]).toEqual(['/v1/pets/1', null])
    const bodies = Array.from({ length: 30 }, (_, n) => (n === 9 ? { ...pet, name: 'Max' } : pet))
    const responses = await Promise.all(bodies.map((body) => service.post(body, idempotencyKey('k'))))
    const [other] = responses.splice(9, 1)
    expect(other?.status).toBe(422)
    for (const response of responses) {
      expect([response.status, await response.text()]).toEqual([201, text])
      const names = ['location', 'idempotent-replayed']
      expect(names.map((name) => response.headers.get(name))).toEqual([location, 'true'])
    }
    expect(await count(service)).toEqual({ totalCount: 1 })
  })

  test('of a request in flight is 409, on the same and on another instance [W13]', async ({ service }) => {
    const other = await service.startPeer()
    await withClient(async (client) => {
      await client.query(`
        CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NEW; END $$;
        CREATE TRIGGER wait BEFORE INSERT ON animal FOR EACH ROW EXECUTE FUNCTION wait();
        SELECT pg_advisory_lock(1)`)
      const first = service.post(pet, idempotencyKey('k'))
      await waitUntil(async () => (await countBlocked(client)) === 1)
      for (const instance of [service, other]) {
        const repeat = await instance.post(pet, idempotencyKey('k'))
        expect(await repeat.json()).toMatchObject({ code: 'ABORTED', status: 409 })
        expect(repeat.headers.get('retry-after')).toBe('1')
      }
      await client.query('SELECT pg_advisory_unlock(1)')
      expect((await first).status).toBe(201)
    }, service.databaseUrl)
    expect((await other.post(pet, idempotencyKey('k'))).headers.get('idempotent-replayed')).toBe('true')
  })

  test('expires after 24 hours by the clock of the database, also if that was set back', async ({ service }) => {
    await service.post(pet, idempotencyKey('k'))
    const age = (hours: number) =>
      service.database.pool.query(`UPDATE idempotency_key SET created_at = now() - interval '${hours} h'`)
    const location = async () => (await service.post(pet, idempotencyKey('k'))).headers.get('location')
    await age(-25)
    expect(await location()).toBe('/v1/pets/1')
    await age(23.9)
    expect(await location()).toBe('/v1/pets/1')
    const remaining = async () => {
      await pruneIdempotencyKeys(service.database.prisma)
      const { rows } = await service.database.pool.query('SELECT key FROM idempotency_key')
      return rows.length
    }
    expect(await remaining()).toBe(1)
    await age(24.1)
    expect(await location()).not.toBe('/v1/pets/1')
    expect(await count(service)).toEqual({ totalCount: 2 })
    await service.database.pool.query(`
      INSERT INTO idempotency_key (api_key_id, key, fingerprint, animal_id)
      SELECT api_key_id, n::text, fingerprint, animal_id FROM idempotency_key, generate_series(1, 10000) AS n`)
    await age(24.1)
    expect(await remaining()).toBe(0)
  })

  test('is deleted within a minute of the start when it has expired', async ({ service }) => {
    await service.post(pet, idempotencyKey('k'))
    const { pool } = service.database
    await pool.query("UPDATE idempotency_key SET created_at = now() - interval '25 h'")
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    await service.startPeer()
    vi.advanceTimersByTime(60_000)
    vi.useRealTimers()
    await waitUntil(async () => (await pool.query('SELECT FROM idempotency_key')).rowCount === 0)
  })

  test('is not stored if the insert of its animal fails or is left out [W18]', async ({ service }) => {
    const { pool } = service.database
    await pool.query(`
      ALTER TABLE animal ADD CONSTRAINT never CHECK (name <> 'Rex') NOT VALID;
      CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER skip BEFORE INSERT ON animal FOR EACH ROW WHEN (NEW.name = 'Max') EXECUTE FUNCTION skip()`)
    for (const name of ['Rex', 'Max'])
      expect((await service.post({ ...pet, name }, idempotencyKey('k'))).status).toBe(500)
    expect((await pool.query('SELECT key FROM idempotency_key UNION SELECT name FROM animal')).rows).toEqual([])
  })
})
