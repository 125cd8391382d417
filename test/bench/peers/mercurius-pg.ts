import { serveMercurius } from './mercurius-server.ts'
import { createPgStore } from './pg-store.ts'

await serveMercurius(createPgStore<string>({ numbers: false }))
