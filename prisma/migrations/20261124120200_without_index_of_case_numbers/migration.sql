-- DropIndex: only databases that ran an unreleased version have it. The others take no lock.
DROP INDEX IF EXISTS "animal_category_id_status_id_idx";
