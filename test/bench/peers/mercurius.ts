import { serveMercurius } from './mercurius-server.ts'
import { createPrismaStore } from './prisma-store.ts'

await serveMercurius(createPrismaStore(String))
