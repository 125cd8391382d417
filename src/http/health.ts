import { Router } from 'express'
import { ApiError } from '../errors.ts'
import { allowMethods } from './methods.ts'

export interface Health {
  /** The process is about to end: balancers should look away. */
  draining: boolean
  /** @returns the migrations that the database lacks; rejects when the database cannot be asked */
  pendingMigrations(): Promise<string[]>
}

/** `/livez`: the process answers. `/readyz`: it can serve, which takes the database and its current schema. */
export function healthRouter(health: Health): Router {
  return Router({ strict: true, caseSensitive: true })
    .get('/livez', (_req, res) => {
      res.json({ status: 'alive' })
    })
    .get('/readyz', async (_req, res) => {
      if (health.draining) throw new ApiError('UNAVAILABLE', 'The service is shutting down.')
      const pending = await health.pendingMigrations()
      if (pending.length) {
        throw new ApiError('UNAVAILABLE', `The database schema is behind by ${pending.length} migration(s).`)
      }
      res.json({ status: 'ready' })
    })
    .all(['/livez', '/readyz'], allowMethods('GET', 'HEAD'))
}
