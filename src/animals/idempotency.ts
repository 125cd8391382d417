import { hash } from 'node:crypto'
import type { PrismaClient } from '../database/generated/client.ts'
import { ApiError } from '../errors.ts'
import { Animal, NewPet } from './animal.ts'
import { INSERTED_COLUMNS, type RunStatement, SELECT_LIST } from './queries.ts'

/** How long a key is kept, in hours. After that, the same key creates another animal. */
export const IDEMPOTENCY_HOURS = 24

/** The client that sends an Idempotency-Key, and the key that it chose. */
export interface IdempotencyRequest {
  clientId: bigint
  key: string
}

/** Maximum length of a key, which consists of visible ASCII characters. */
export const IDEMPOTENCY_KEY_MAX_LENGTH = 255
const IDEMPOTENCY_KEY_PATTERN = new RegExp(`^[!-~]{1,${IDEMPOTENCY_KEY_MAX_LENGTH}}$`)

/**
 * Claims the key and inserts the animal.
 * 1. Atomic: one statement, so a crash leaves both or neither.
 * 2. Concurrent requests with the same key, on any instance: the one that gets the advisory lock proceeds.
 * 3. A used key stays unchanged, even if the request that used it committed after this statement began.
 * 4. An expired key is claimed again.
 */
const CLAIM_AND_INSERT = `
  WITH claim AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtextextended($1::bigint || ' ' || $2::text, 0)) AS locked
  ), claimed_key AS (
    INSERT INTO idempotency_key AS existing (api_key_id, key, fingerprint, animal_id)
    SELECT $1, $2, $3::bytea, nextval('animal_id_seq') FROM claim WHERE locked
    ON CONFLICT (api_key_id, key) DO UPDATE
      SET fingerprint = excluded.fingerprint, animal_id = excluded.animal_id, created_at = excluded.created_at
      WHERE existing.created_at < now() - make_interval(hours => ${IDEMPOTENCY_HOURS})
    RETURNING animal_id
  ), created AS (
    INSERT INTO animal (id, ${INSERTED_COLUMNS.map(({ column }) => column).join(', ')})
    SELECT animal_id, ${INSERTED_COLUMNS.map(({ column }) => `pet.${column}`).join(', ')}
    FROM claimed_key, json_populate_record(NULL::animal, $4::json) AS pet
    RETURNING ${SELECT_LIST}
  )
  SELECT claim.locked, created.* FROM claim LEFT JOIN created ON true`

const SELECT_EXISTING = `
  SELECT idempotency_key.fingerprint, ${SELECT_LIST}
  FROM idempotency_key JOIN animal ON animal.id = idempotency_key.animal_id
  WHERE idempotency_key.api_key_id = $1 AND idempotency_key.key = $2`

/**
 * createPet with an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header). A repeat returns the first animal; a
 * concurrent request with the same key is rejected instead of waiting on a connection.
 *
 * @returns the animal, and whether an earlier request created it
 * @throws ApiError ABORTED while another request with the key is in flight, IDEMPOTENCY_KEY_REUSED when the key was
 *   used for another animal, INVALID_ARGUMENT for a malformed key
 */
export async function createOnce(
  run: RunStatement,
  { clientId, key }: IdempotencyRequest,
  pet: NewPet,
): Promise<{ animal: Animal; replayed: boolean }> {
  if (!IDEMPOTENCY_KEY_PATTERN.test(key)) {
    const message = `must be 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} visible ASCII characters`
    const fields = [{ path: ['idempotencyKey'], message }]
    throw new ApiError('INVALID_ARGUMENT', `Idempotency-Key: ${message}`, { fields })
  }
  const row = toText(Object.fromEntries(INSERTED_COLUMNS.map(({ field, column }) => [column, pet[field]])))
  const [claim] = await run<Claim>(CLAIM_AND_INSERT, [clientId, key, fingerprintOf(pet), row])
  if (!claim?.locked) throw inFlight()
  if (claim.id !== null) return { animal: toAnimal(claim), replayed: false }

  const [existing] = await run<Animal & { fingerprint: Buffer }>(SELECT_EXISTING, [clientId, key])
  if (!existing) throw inFlight() // pruned in between: the retry creates an animal
  if (!fingerprintOf(pet).equals(existing.fingerprint) && !fingerprintOf1_0(pet).equals(existing.fingerprint)) {
    throw new ApiError('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used with another body.')
  }
  return { animal: toAnimal(existing), replayed: true }
}

/** `id` is null when no animal was created. */
type Claim = { locked: boolean } & (Animal | { id: null })

/** The members of Animal, without the other columns of the row. */
function toAnimal<Row extends Animal>(row: Row): Animal {
  return Object.fromEntries(Object.keys(Animal.shape).map((field) => [field, row[field as keyof Animal]])) as Animal // has every member
}

function inFlight(): ApiError {
  return new ApiError('ABORTED', 'A request with this Idempotency-Key is still in flight.')
}

/** Deletes expired keys, by the database's clock like createOnce. @returns their number */
export async function pruneIdempotencyKeys(prisma: PrismaClient): Promise<number> {
  return prisma.$executeRaw`
    DELETE FROM idempotency_key WHERE created_at < now() - make_interval(hours => ${IDEMPOTENCY_HOURS}::int)`
}

/**
 * A hash of every member of NewPet, equal for equal animals whatever the formatting of the body. Absent members do not
 * count, so that a new optional member changes no stored fingerprint.
 */
export function fingerprintOf(pet: NewPet): Buffer {
  const members = Object.keys(NewPet.shape)
    .sort()
    .map((field) => [field, pet[field as keyof NewPet]]) // a key of the type's own schema
    .filter(([, value]) => value !== undefined)
  return hash('sha256', toText(members), 'buffer')
}

/** The fingerprint that version 1.0 stored, for keys that are younger than IDEMPOTENCY_HOURS at the upgrade. */
function fingerprintOf1_0({ name, categoryId, status }: NewPet): Buffer {
  return hash('sha256', toText([name, categoryId, status ?? null]), 'buffer')
}

/** JSON with integers as strings, which PostgreSQL reads exactly. */
function toText(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) => (typeof member === 'bigint' ? member.toString() : member))
}
