-- CreateIndex
CREATE INDEX CONCURRENTLY "animal_status_category_id_id_idx" ON "animal"("status", "category_id", "id");
