import type { RequestHandler } from 'express'
import type { Logger } from 'pino'

/** One line for each request, when its answer is out or its client gone. Neither query nor headers: keys stay out. */
export function accessLog(log: Logger): RequestHandler {
  return (req, res, next) => {
    const began = process.hrtime.bigint()
    const path = req.path
    res.once('close', () => {
      const ms = Number((process.hrtime.bigint() - began) / 1_000n) / 1_000
      const { id: requestId, method, caller } = req
      const line = { requestId, method, path, status: res.statusCode, ms, key: caller?.keyPrefix }
      log.info(line, res.writableFinished ? 'request' : 'client went away')
    })
    next()
  }
}
