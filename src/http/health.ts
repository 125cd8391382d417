import type { IRouter } from 'express'
import { ApiError } from '../errors.ts'
import { addReadRoute } from './allowed-methods.ts'

export interface Health {
  isDraining(): boolean
  /** @returns why the database cannot serve requests; undefined if it can. Rejects when it is not available */
  databaseProblem(): Promise<string | undefined>
}

/** `/livez`: the process responds. `/readyz`: load balancers should route requests to it. */
export function addHealthRoutes(app: IRouter, health: Health): void {
  addReadRoute(app, '/livez', (_req, res) => {
    res.json({ status: 'alive' })
  })
  addReadRoute(app, '/readyz', async (_req, res) => {
    if (health.isDraining()) throw new ApiError('UNAVAILABLE', 'The service is shutting down.')
    const problem = await health.databaseProblem()
    if (problem) throw new ApiError('UNAVAILABLE', problem)
    res.json({ status: 'ready' })
  })
}
