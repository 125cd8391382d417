-- AlterTable
ALTER TABLE "api_key" ADD COLUMN     "deprecated_calls" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN     "deprecated_last_call_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "idempotency_key" (
    "api_key_id" BIGINT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "animal_id" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("api_key_id","key")
);

-- CreateIndex
CREATE INDEX "idempotency_key_created_at_idx" ON "idempotency_key"("created_at");

-- AddForeignKey
ALTER TABLE "idempotency_key" ADD CONSTRAINT "idempotency_key_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_key"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "idempotency_key" ADD CONSTRAINT "idempotency_key_animal_id_fkey" FOREIGN KEY ("animal_id") REFERENCES "animal"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- In one transaction with all of the above: a crash leaves the whole migration or nothing of it.
UPDATE "_prisma_migrations" SET "finished_at" = now() WHERE "migration_name" = '20261121063950_idempotency' AND "finished_at" IS NULL;
