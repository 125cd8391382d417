import { hash } from 'node:crypto'
import { z } from 'zod'
import type { PrismaClient } from '../database/generated/client.ts'
import type { Statements } from '../database/statements.ts'
import { ApiError, type FieldError } from '../errors.ts'
import { NAMESPACE, VERSION_1_ID } from '../project.ts'
import type { Created, Input, Resource } from './resource.ts'
import { absentFields, describeTable, selectAbsent, toJsonValue } from './table.ts'

/** How long a key is kept, in hours. After that, the same key creates another item. */
export const IDEMPOTENCY_HOURS = 24

export interface IdempotencyRequest {
  clientId: bigint
  key: string
}

export const IDEMPOTENCY_KEY_MAX_LENGTH = 255

const VISIBLE_ASCII = /^[!-~]+$/
export const IdempotencyKey = z.string().min(1).max(IDEMPOTENCY_KEY_MAX_LENGTH).regex(VISIBLE_ASCII)

/** The row in `api_key` that all subjects of access tokens share: in it, an idempotency key begins with its client's id. */
const SUBJECTS_KEY_ID = -1n

/** How many expired keys a statement deletes. */
const PRUNED_AT_ONCE = 10_000

const isKept = (row: string) => `${row}.created_at >= now() - interval '${IDEMPOTENCY_HOURS} hours'`

/**
 * Claims keys and inserts their items, or reads the items of keys that were used (decision 9). Numbers in the SQL refer to
 * this list.
 * 1. It is one statement, so after a crash either both a key and its item exist, or neither of them.
 * 2. Of concurrent requests with the same key, on any instance, only the one that gets the advisory lock proceeds. Two
 *    batches do not wait for each other, so they cannot deadlock.
 * 3. A used key stays unchanged, even if the request that used it committed after this statement began. Its row is
 *    then invisible to `used`, but conflicts in `claimed`, so this request gets neither a new nor a used item.
 * 4. An expired key is claimed again.
 * 5. LATERAL with LIMIT reads each key and its item by primary key. Without these two, PostgreSQL reads whole tables as
 *    long as it has no statistics of them.
 * 6. A replay writes to the WAL, so that its commit waits for the synchronous standby: an administrator may have cancelled
 *    the wait of the request that created the item.
 * 7. A key that another resource has used is rejected by its fingerprint, even if an item of this one has its id.
 *    The claim of an expired key sets both columns of ids, but version 1 sets only VERSION_1_ID, which takes precedence.
 */
function claimAndInsert(resource: Resource): string {
  const { name, sequence, selectList, insertColumns, returningList, createdOrUsedList } = describeTable(resource)
  const [id, usedId, resourceName] = resource.version1
    ? [VERSION_1_ID, `coalesce(existing.${VERSION_1_ID}, existing.row_id)`, 'NULL']
    : ['row_id', 'existing.row_id', `'${resource.name}'`]
  const populated = `json_populate_record(NULL::${name}, request.item)`
  const absent = resource.references ? selectAbsent(resource.references) : ''
  return `
  WITH request AS MATERIALIZED (
    SELECT request.*, pg_try_advisory_xact_lock(lock) AS locked${absent && `, ${absent} AS absent_members`} -- 2
    FROM json_to_recordset($1::json)
      AS request (n int, lock bigint, api_key_id bigint, key text, fingerprint text, item json)
    ${absent && `CROSS JOIN ${populated} AS input`}
  ), used AS (
    SELECT request.n AS request_n, existing.fingerprint AS used_fingerprint, item.*,
      CASE existing.fingerprint WHEN decode(request.fingerprint, 'hex')
        THEN pg_logical_emit_message(true, '${NAMESPACE}', '') END -- 6
    FROM request
    CROSS JOIN LATERAL (
      SELECT * FROM "public"."idempotency_key"
      WHERE api_key_id = request.api_key_id AND key = request.key
      LIMIT 1 -- 5
    ) AS existing
    LEFT JOIN LATERAL (SELECT ${selectList} FROM ${name} AS item WHERE id = ${usedId} LIMIT 1) AS item ON true
    WHERE ${isKept('existing')}
  ), claimed AS (
    INSERT INTO "public"."idempotency_key" AS existing (api_key_id, key, fingerprint, resource, ${id})
    SELECT api_key_id, key, decode(fingerprint, 'hex'), ${resourceName}, nextval('${sequence}') -- 7
    FROM request
    WHERE locked AND n NOT IN (SELECT request_n FROM used)${absent && " AND absent_members = '{}'"}
    ORDER BY n
    ON CONFLICT (api_key_id, key) DO UPDATE -- 3
      SET fingerprint = excluded.fingerprint, resource = excluded.resource, row_id = excluded.row_id,
        ${VERSION_1_ID} = excluded.${VERSION_1_ID}, created_at = excluded.created_at
      WHERE NOT ${isKept('existing')} -- 4
    RETURNING api_key_id, key, ${id} AS id
  ), created AS (
    INSERT INTO ${name} AS item (id, ${insertColumns()})
    SELECT claimed.id, ${insertColumns('input.')}
    FROM claimed
    JOIN request USING (api_key_id, key)
    CROSS JOIN ${populated} AS input
    RETURNING ${returningList}
  )
  SELECT request.n AS claimant_n, used.used_fingerprint, ${createdOrUsedList}${absent && ', absent_members'}
  FROM request
  LEFT JOIN claimed USING (api_key_id, key)
  LEFT JOIN created ON created.id = claimed.id
  LEFT JOIN used ON used.request_n = request.n`
}

/** A row of claimAndInsert. The fingerprint is null unless the key was used, the id unless an item was created or found. */
interface Claim extends Record<string, unknown> {
  claimant_n: number
  id: bigint | null
  used_fingerprint: Buffer | null
  /** The members of the input that refer to no row. */
  absent_members?: string[]
}

interface Claimant {
  /** Identifies a key with its client: the keys of two clients are different, even with the same text. */
  id: string
  request: object
}

/**
 * A creation with an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header). A repeat returns the first item; a
 * concurrent request with the same key is rejected instead of waiting on a connection.
 * @returns a function that resolves to the item, or to why nothing was inserted. It throws ApiError ABORTED while the key is
 *   in flight, IDEMPOTENCY_KEY_REUSED when another request has used it, INVALID_ARGUMENT for a malformed key
 */
export function createIdempotentInsertQuery<R extends Resource>(resource: R, { batch }: Statements) {
  const { toRow, toItem } = describeTable(resource)
  const claim = batch({
    text: claimAndInsert(resource),
    /** The request of the first claimant of each key in a batch, with the claimant's number. */
    toValues(claimants: Claimant[]) {
      const requests = claimants.map(({ id, request }, n) => [id, { n, ...request }] as const)
      return [JSON.stringify([...new Map(requests.reverse()).values()])]
    },
    /** Of two requests of a batch with one key, the second gets the item if the key was used before the batch, else 409. */
    toOutputs(rows: Claim[], claimants): (Claim | undefined)[] {
      const byId = new Map(rows.map((row) => [claimants[row.claimant_n]?.id, row]))
      return claimants.map(({ id }, n) => {
        const found = byId.get(id)
        return found?.claimant_n === n || found?.used_fingerprint ? found : undefined
      })
    },
  })
  return async ({ clientId, key }: IdempotencyRequest, input: Input<R>): Promise<Created<R> | FieldError[]> => {
    if (!IdempotencyKey.safeParse(key).success) {
      const message = `must be 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} visible ASCII characters`
      const fields = [{ path: ['idempotencyKey'], message }]
      throw new ApiError('INVALID_ARGUMENT', `Idempotency-Key: ${message}`, { fields })
    }
    const fingerprint = fingerprintOf(resource, input)
    const id = `${clientId} ${key}`
    const lock = String(hash('sha256', id, 'buffer').readBigInt64BE())
    const owned =
      clientId < 0 ? { api_key_id: String(SUBJECTS_KEY_ID), key: id } : { api_key_id: String(clientId), key }
    const request = { lock, ...owned, fingerprint: fingerprint.toString('hex'), item: toRow(input) }
    const outcome = await claim({ id, request })
    if (outcome?.used_fingerprint) {
      // The id is null if the item was deleted, which only the foreign key of version 1's column prevents.
      const isSame = fingerprint.equals(outcome.used_fingerprint) && outcome.id !== null
      if (isSame) return { item: toItem(outcome), replayed: true }
      throw new ApiError('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used for another request.')
    }
    if (outcome?.id != null) return { item: toItem(outcome, input), replayed: false }
    if (outcome?.absent_members?.length) return absentFields(resource, outcome.absent_members)
    throw new ApiError('ABORTED', 'A request with this Idempotency-Key is still in flight.')
  }
}

/**
 * Deletes keys that have expired by the database's clock, some at a time: on a busy service, one statement for all of them
 * would exceed its timeout, this time and every later time. It skips keys that are being claimed again, because a claim of
 * several keys and this statement could otherwise wait for each other in a deadlock.
 */
export async function pruneIdempotencyKeys(prisma: PrismaClient): Promise<void> {
  let deleted: number
  do {
    deleted = await prisma.$executeRawUnsafe(`DELETE FROM "public"."idempotency_key" WHERE (api_key_id, key) IN (
      SELECT api_key_id, key FROM "public"."idempotency_key" AS expired WHERE NOT ${isKept('expired')} LIMIT ${PRUNED_AT_ONCE} FOR UPDATE SKIP LOCKED)`)
  } while (deleted === PRUNED_AT_ONCE)
}

/**
 * A hash of every member of an input and, except for the resource of version 1, of the name of the resource. It does not
 * depend on the formatting of the body. Absent members do not count, so that a new optional member changes no fingerprint.
 */
function fingerprintOf<R extends Resource>({ name, version1, input: { shape } }: R, input: Input<R>): Buffer {
  const members = Object.keys(shape)
    .sort()
    .flatMap((member) => (input[member] === undefined ? [] : [[member, toJsonValue(input[member])]]))
  return hash('sha256', JSON.stringify(version1 ? members : [name, members]), 'buffer')
}
