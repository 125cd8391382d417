import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from './client.ts'
import { animalsIn, prepareDatabase, statementsFinished, startCluster } from './cluster.ts'
import { atLeast, definePart, info } from './assertions.ts'
import { startInstance } from './instance.ts'
import { createLedger } from './ledger.ts'

/** Kills the service and PostgreSQL with SIGKILL, in random order at random times, while clients write. */
export const kills = definePart(
  { kills: 50, databaseKills: 20, acknowledgements: 100_000, concurrency: 48 },
  async (defer, { kills, databaseKills, acknowledgements, concurrency }) => {
    const cluster = await startCluster(defer)
    const { key } = await prepareDatabase(cluster.url)
    const start = (port?: number) =>
      startInstance(defer, { DATABASE_URL: cluster.url, waitFor: '/livez', ...(port && { port }) })
    let service = await start()
    const client = createClient(service.port, key, concurrency)
    defer(() => client.close())

    const victims = [...Array<'service'>(kills).fill('service'), ...Array<'database'>(databaseKills).fill('database')]
    victims.sort(() => Math.random() - 0.5)
    const startedAt = performance.now()
    const ledger = createLedger()
    const writing = ledger.write(client, concurrency)
    for (const [round, victim] of victims.entries()) {
      await ledger.reaches(Math.floor((acknowledgements * (round + 1)) / (victims.length + 1)))
      await sleep(Math.random() * 50) // so that the signal hits any stage of a statement
      if (victim === 'service') {
        await service.stop('SIGKILL')
        service = await start(service.port)
      } else {
        await cluster.stop('kill')
        await cluster.start()
      }
    }
    await ledger.reaches(acknowledgements)
    await writing.stop()
    const seconds = (performance.now() - startedAt) / 1_000
    await statementsFinished(cluster.url)
    return [
      info('SIGKILLs of the service', kills),
      info('SIGKILLs of PostgreSQL', databaseKills),
      info('seconds under load', seconds),
      atLeast('acknowledgements', ledger.acknowledged, acknowledgements),
      ...ledger.audit(await animalsIn(cluster.url)),
    ]
  },
)
