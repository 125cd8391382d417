-- CreateIndex: it has a number for each status and 0 for none, which rows with any status can be compared with. Prisma's
-- schema cannot express it.
CREATE INDEX CONCURRENTLY "animal_category_id_status_id_idx" ON "animal"("category_id", (CASE "status" WHEN 'available' THEN 1 WHEN 'pending' THEN 2 WHEN 'sold' THEN 3 ELSE 0 END), "id");
