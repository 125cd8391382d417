import { serveMercurius } from './mercurius-server.ts'
import { batched } from './peer.ts'
import { createBatchedPgStore } from './pg-batched-store.ts'
import { createPgStore } from './pg-store.ts'

// GraphQL writes an ID as text, whether it is a number or not.
await (batched ? serveMercurius(createBatchedPgStore()) : serveMercurius(createPgStore<string>({ numbers: false })))
