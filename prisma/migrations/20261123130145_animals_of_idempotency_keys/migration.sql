-- AlterTable
ALTER TABLE "idempotency_key" ADD COLUMN     "animal_ids" BIGINT[];
