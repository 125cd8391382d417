import { expect, test } from 'vitest'
import { querySummary } from '../../src/database/tracing.ts'

test.for([
  ['SELECT "public"."animal"."id" FROM "public"."animal" WHERE "public"."animal"."id" IN ($1)', 'SELECT public.animal'],
  ['SELECT COUNT(*) FROM (SELECT "id" FROM "public"."animal" OFFSET $1) AS "sub"', 'SELECT public.animal'],
  ['INSERT INTO "public"."animal" ("name") VALUES ($1) RETURNING "id"', 'INSERT public.animal'],
  ['  UPDATE api_key SET n = recorded.n FROM unnest($1::int[]) AS recorded (n)', 'UPDATE api_key'],
  ['delete from rate_limit where expire < $1', 'DELETE rate_limit'],
  ['WITH claim AS (SELECT 1), used AS (INSERT INTO idempotency_key AS k SELECT 1) SELECT 2', 'INSERT idempotency_key'],
  ['SELECT * FROM unnest($1::int[])', 'SELECT'],
  ['BEGIN', 'BEGIN'],
  ['-- nothing', 'OTHER'],
] as const)('%s is summarised as %s', ([text, summary]) => {
  expect(querySummary(text).summary).toBe(summary)
})
