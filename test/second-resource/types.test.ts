import { expect, test as base } from 'vitest'
import { z } from 'zod'
import { Int64 } from '../../src/store/types.ts'
import { createCursors } from '../../src/store/cursor.ts'
import type { Resource } from '../../src/store/resource.ts'
import { createStore } from '../../src/store/store.ts'
import { testWithService as test } from '../support/harness.ts'
import { clientIdOf } from './fixture.ts'

const visitsWith = (day: z.ZodType) =>
  ({
    name: 'visits',
    noun: 'visit',
    table: 'visit',
    item: z.object({ id: Int64, day }),
    input: z.object({ day }),
    scopes: { read: 'visits:read', write: 'visits:write' },
    filters: {},
  }) satisfies Resource

test('a date is the same text in creation, replay, list and lookup, whatever DateStyle and time zone are', async ({
  service,
}) => {
  const { pool } = service.database
  await pool.query(`CREATE TABLE visit (id bigserial PRIMARY KEY, day date NOT NULL);
    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET DateStyle TO German', current_database());
      EXECUTE format('ALTER DATABASE %I SET timezone TO ''Asia/Kolkata''', current_database()); END $$`)
  const { database } = await service.startPeer()
  const { create, get, list } = createStore(visitsWith(z.iso.date()), database.statements, database.readCount)
  const days = ['2026-12-24', '0001-01-01', '9999-12-31']
  const clientId = await clientIdOf(service)
  for (const [n, day] of days.entries()) {
    const once = { clientId, key: day }
    expect((await create({ day }, once)).item).toEqual({ id: BigInt(n + 1), day })
    expect((await create({ day }, once)).item).toEqual({ id: BigInt(n + 1), day })
    expect(await get(String(n + 1))).toEqual({ id: BigInt(n + 1), day })
  }
  expect((await create({ day: '2026-12-25' })).item).toEqual({ id: 4n, day: '2026-12-25' })
  expect((await list({ limit: 3 })).items.map(({ day }) => day)).toEqual(['2026-12-25', '9999-12-31', '0001-01-01'])
})

test('a time that the rule of the recipe accepts is stored, whatever its fraction, and no other reaches PostgreSQL', async ({
  service,
}) => {
  await service.database.pool.query('CREATE TABLE visit (id bigserial PRIMARY KEY, day timestamptz NOT NULL)')
  const { statements, readCount } = service.database
  const visits = visitsWith(z.iso.datetime().regex(/^(?!0000|9999).{1,30}$/))
  const { create } = createStore(visits, statements, readCount)
  for (const day of ['0001-01-01T00:00:00Z', '9998-12-31T23:59:59.999999999Z', '2026-12-24T09:30:00Z'])
    expect((await create(visits.input.parse({ day }))).item).toHaveProperty('day')
  const tooLong = `2026-12-24T09:30:00.${'9'.repeat(1_000)}Z`
  for (const day of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59.9999999Z', '2026-12-24T09:30:00+01:00', tooLong])
    expect(visits.input.safeParse({ day }).success).toBe(false)
})

base('a member of a type that lists and lookups would read differently is rejected at the start', () => {
  const database = { batch: () => async () => expect.unreachable(), readRows: async () => [] } as never
  for (const type of [z.number(), z.array(z.string()), z.date()])
    expect(() => createStore(visitsWith(type), database, database)).toThrow(
      'day: the store reads no values of this type',
    )
})

base(
  'a filter by text, which could be taken for another one in a cursor, or with a reserved name is rejected at the start',
  () => {
    const of = (day: z.ZodType) => () => createCursors({ ...visitsWith(day), filters: { day: 'text' } })
    for (const type of [z.string(), z.enum(['all', 'none']), z.enum(['a,b'])]) {
      expect(of(type)).toThrow('visits cannot be filtered by day')
    }
    expect(of(z.enum(['a', 'b']).optional())).not.toThrow()
    for (const name of ['after', 'olderThan']) {
      const reserved = { ...visitsWith(z.string()), item: z.object({ id: Int64, [name]: Int64 }) }
      expect(() => createCursors({ ...reserved, filters: { [name]: 'bigint' } })).toThrow(
        `visits cannot be filtered by ${name}`,
      )
    }
  },
)
