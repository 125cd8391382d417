import type { ServedResource } from './app.ts'
import { pets } from './pets/index.ts'

/** What this service serves. A further resource is one more entry (docs/architecture.md). */
export const RESOURCES: ServedResource[] = [pets]
