-- The row that the foreign key of subjects' idempotency keys leads to. It is no key: no SHA-256 is empty.
INSERT INTO "api_key" ("id", "name", "prefix", "hash", "revoked_at") VALUES (-1, 'access tokens', 'token', '', now());
