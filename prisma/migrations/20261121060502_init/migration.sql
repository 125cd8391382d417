-- CreateEnum
CREATE TYPE "pet_status" AS ENUM ('available', 'pending', 'sold');

-- CreateTable
CREATE TABLE "animal" (
    "id" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "category_id" BIGINT NOT NULL,
    "status" "pet_status",

    CONSTRAINT "animal_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "id" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "animal_status_id_idx" ON "animal"("status", "id");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_hash_key" ON "api_key"("hash");

-- In one transaction with all of the above: a crash leaves the whole migration or nothing of it.
UPDATE "_prisma_migrations" SET "finished_at" = now() WHERE "migration_name" = '20261121060502_init' AND "finished_at" IS NULL;
