import { readFileSync } from 'node:fs'

/** Name of the service in traces and in PostgreSQL. */
export const SERVICE_NAME = 'pet-store'

/** What the names of metrics, span attributes and prepared statements begin with, and the realm of authentication. */
export const NAMESPACE = 'petstore'

/** What each API key begins with. */
export const KEY_PREFIX = 'pets_'

/** The project's folder, with package.json and prisma/. Both src/ and dist/ are directly below it, so `..` leads here. */
export const PROJECT = new URL('..', import.meta.url)

/** Version of the service. The interface of REST has a version of its own. */
export const VERSION: string = JSON.parse(readFileSync(new URL('package.json', PROJECT), 'utf8')).version

/** The column of `idempotency_key` in which version 1, with a single resource, stores the id of a key's item. */
export const VERSION_1_ID = 'animal_id'

/** The names of the service in its documents. */
export const TITLE = 'Pet store'
export const SUMMARY = 'The animals of a pet store'
export const WEBSITE = 'https://petstore.example'
