-- CreateIndex
CREATE INDEX CONCURRENTLY "animal_category_id_id_idx" ON "animal"("category_id", "id");
