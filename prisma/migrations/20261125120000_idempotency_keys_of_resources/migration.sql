-- AlterTable: it rewrites nothing. Version 1 goes on with "animal_id", and does not know the new columns.
ALTER TABLE "idempotency_key" ADD COLUMN     "resource" TEXT,
ADD COLUMN     "row_id" BIGINT,
ALTER COLUMN "animal_id" DROP NOT NULL;
