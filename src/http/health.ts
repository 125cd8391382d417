import { Router } from 'express'
import { ApiError } from '../errors.ts'
import { allowMethods } from './methods.ts'

export interface Health {
  /** Whether the process is shutting down: load balancers should stop routing to it. */
  isDraining(): boolean
  /** @returns the names of the pending migrations; rejects when the database is not available */
  pendingMigrations(): Promise<string[]>
}

/** `/livez`: the process responds. `/readyz`: it is not shutting down, and the database has the current schema. */
export function healthRouter(health: Health): Router {
  return Router({ strict: true, caseSensitive: true })
    .get('/livez', (_req, res) => {
      res.json({ status: 'alive' })
    })
    .get('/readyz', async (_req, res) => {
      if (health.isDraining()) throw new ApiError('UNAVAILABLE', 'The service is shutting down.')
      const pending = await health.pendingMigrations()
      if (pending.length) throw new ApiError('UNAVAILABLE', `${pending.length} pending migration(s).`)
      res.json({ status: 'ready' })
    })
    .all(['/livez', '/readyz'], allowMethods('GET', 'HEAD'))
}
