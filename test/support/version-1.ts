import { hash } from 'node:crypto'
import type pg from 'pg'

/** The statement of version 1.1.0, which runs beside this one during an upgrade. */
const CLAIM_AND_INSERT = `
  WITH request AS MATERIALIZED (
    SELECT *, pg_try_advisory_xact_lock(lock) AS locked
    FROM json_to_recordset($1::json)
      AS request (n int, lock bigint, api_key_id bigint, key text, fingerprint text, pet json)
  ), used AS (
    SELECT request.n AS request_n, existing.fingerprint, animal.*
    FROM request
    CROSS JOIN LATERAL (
      SELECT * FROM idempotency_key
      WHERE api_key_id = request.api_key_id AND key = request.key
      LIMIT 1
    ) AS existing
    CROSS JOIN LATERAL (
      SELECT animal.id AS "id", animal.name AS "name", animal.category_id AS "categoryId", animal.status AS "status"
      FROM animal WHERE id = existing.animal_id LIMIT 1
    ) AS animal
    WHERE existing.created_at >= now() - interval '24 hours'
  ), claimed AS (
    INSERT INTO idempotency_key AS existing (api_key_id, key, fingerprint, animal_id)
    SELECT api_key_id, key, decode(fingerprint, 'hex'), nextval('animal_id_seq')
    FROM request
    WHERE locked AND n NOT IN (SELECT request_n FROM used)
    ORDER BY n
    ON CONFLICT (api_key_id, key) DO UPDATE
      SET fingerprint = excluded.fingerprint, animal_id = excluded.animal_id, created_at = excluded.created_at
      WHERE NOT existing.created_at >= now() - interval '24 hours'
    RETURNING api_key_id, key, animal_id
  ), created AS (
    INSERT INTO animal (id, name, category_id, status)
    SELECT claimed.animal_id, pet.name, pet.category_id, pet.status
    FROM claimed
    JOIN request USING (api_key_id, key)
    CROSS JOIN json_populate_record(NULL::animal, request.pet) AS pet
  )
  SELECT request.n, claimed.animal_id AS "createdId", used.*
  FROM request
  LEFT JOIN claimed USING (api_key_id, key)
  LEFT JOIN used ON used.request_n = request.n`

/** An animal, and its fingerprint as version 1.1.0 stores it. */
export const REX = { name: 'Rex', categoryId: 1, status: 'sold' } as const
const REX_FINGERPRINT = '88c4794ef383e6fd5919d81117a8e29f673bff54fcf6d8d2723915fdc62d1e57'

/** Creates REX as version 1.1.0 does. @returns its id, which is the earlier one of a used key; undefined for 409 and 422 */
export async function createByVersion1(pool: pg.Pool, clientId: bigint, key: string): Promise<number | undefined> {
  const lock = String(hash('sha256', `${clientId} ${key}`, 'buffer').readBigInt64BE())
  const pet = { name: 'Rex', category_id: '1', status: 'sold' }
  const request = { n: 0, lock, api_key_id: String(clientId), key, fingerprint: REX_FINGERPRINT, pet }
  const { rows } = await pool.query(CLAIM_AND_INSERT, [JSON.stringify([request])])
  const [{ createdId, fingerprint, id }] = rows
  if (createdId !== null) return Number(createdId)
  return fingerprint?.toString('hex') === REX_FINGERPRINT ? Number(id) : undefined
}
