import type { IRouter } from 'express'
import { ApiError } from '../errors.ts'
import { addReadRoute } from './allowed-methods.ts'

/**
 * `/livez`: the process responds. `/readyz`: load balancers should route requests to it.
 * @param readinessProblem returns why they should not; undefined if they should. It rejects without a database
 */
export function addHealthRoutes(app: IRouter, readinessProblem: () => Promise<string | undefined>): void {
  addReadRoute(app, '/livez', (_req, res) => {
    res.json({ status: 'alive' })
  })
  addReadRoute(app, '/readyz', async (_req, res) => {
    const problem = await readinessProblem()
    if (problem) throw new ApiError('UNAVAILABLE', problem)
    res.json({ status: 'ready' })
  })
}
