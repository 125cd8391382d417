-- AlterTable: Citus executes the parts of a statement one after another, the key before its animal. Prisma's schema cannot
-- express it.
ALTER TABLE "idempotency_key" ALTER CONSTRAINT "idempotency_key_animal_id_fkey" DEFERRABLE INITIALLY DEFERRED;
