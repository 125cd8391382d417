import type { Router } from 'express'
import { ApiError } from '../errors.ts'
import { allowMethods, createRouter } from './router.ts'

export interface Health {
  /** Whether the process is shutting down: load balancers should stop routing to it. */
  isDraining(): boolean
  /** @returns why the database cannot serve requests; undefined if it can. Rejects when it is not available */
  databaseProblem(): Promise<string | undefined>
}

/**
 * `/livez`: the process responds. `/readyz`: it is not shutting down, and the database accepts writes and has the current
 * schema.
 */
export function healthRouter(health: Health): Router {
  return createRouter()
    .get('/livez', (_req, res) => {
      res.json({ status: 'alive' })
    })
    .get('/readyz', async (_req, res) => {
      if (health.isDraining()) throw new ApiError('UNAVAILABLE', 'The service is shutting down.')
      const problem = await health.databaseProblem()
      if (problem) throw new ApiError('UNAVAILABLE', problem)
      res.json({ status: 'ready' })
    })
    .all(['/livez', '/readyz'], allowMethods('GET', 'HEAD'))
}
