-- CreateEnum
CREATE TYPE "order_status" AS ENUM ('placed', 'shipped', 'delivered');

-- CreateTable: the name is a reserved word of SQL
CREATE TABLE "order" (
    "id" BIGSERIAL NOT NULL,
    "pet_id" BIGINT NOT NULL,
    "quantity" INTEGER NOT NULL,
    "status" "order_status" NOT NULL DEFAULT 'placed',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),

    CONSTRAINT "order_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "order_pet_id_fkey" FOREIGN KEY ("pet_id") REFERENCES "animal"("id")
);

-- CreateIndex
CREATE INDEX "order_status_id_idx" ON "order"("status", "id");
