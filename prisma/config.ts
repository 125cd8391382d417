import { fileURLToPath } from 'node:url'
import { defineConfig } from 'prisma-cli/config'

// `prisma generate` looks for a schema engine on the network although it never runs one. Naming any existing file
// as that engine keeps the generation offline; `npm run migrate -- create` uses the WebAssembly engine (prisma/create-migration.mjs).
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= fileURLToPath(import.meta.url)

export default defineConfig({ schema: 'schema.prisma' })
