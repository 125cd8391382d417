-- AlterTable
ALTER TABLE "api_key" ADD COLUMN     "client_id" BIGINT,
ADD COLUMN     "expires_at" TIMESTAMPTZ(3),
ADD COLUMN     "last_used_at" TIMESTAMPTZ(3),
ADD COLUMN     "scopes" TEXT[] NOT NULL DEFAULT ARRAY['pets:read', 'pets:write']::TEXT[];

-- CreateTable: unlogged, since nothing is lost with it that a minute does not bring back
CREATE UNLOGGED TABLE "rate_limit" (
    "key" VARCHAR(255) NOT NULL,
    "points" INTEGER NOT NULL DEFAULT 0,
    "expire" BIGINT,

    CONSTRAINT "rate_limit_pkey" PRIMARY KEY ("key")
);

-- In one transaction with all of the above: a crash leaves the whole migration or nothing of it.
UPDATE "_prisma_migrations" SET "finished_at" = now() WHERE "migration_name" = '20261121084305_key_lifecycle_and_budgets' AND "finished_at" IS NULL;
