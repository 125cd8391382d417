// The model behind docs/capacity.md: what one request costs, multiplied. `npm run docs` writes its tables to the page.
import {
  type Action,
  ANIMAL,
  type Cost,
  COSTS,
  GRAPHQL_PART,
  IDEMPOTENCY_KEY,
  MIX,
  PROCESS_CONNECTIONS,
  PROCESS_MB,
  REPLICAS,
  UTILISATION,
} from './capacity-inputs.ts'

const DAY = 86_400

const RATES = [1_000, 100_000]

/** What a limit is, what it has room for, and what a request takes of it. */
interface Limit {
  limit: string
  room: number
  ofRequest: number
  add: string
}

/** A part of what the mix costs, for each of its requests. */
function average(part: keyof Cost, actions: Action[] = ['list', 'get', 'create']): number {
  const costs = actions.map((action) => {
    const [rest, graphql] = [COSTS.REST[action][part], COSTS.GraphQL[action][part]]
    const key = action === 'create' ? IDEMPOTENCY_KEY[part] : 0
    return MIX[action] * (rest * (1 - GRAPHQL_PART) + graphql * GRAPHQL_PART + key)
  })
  return costs.reduce((sum, cost) => sum + cost, 0)
}

const serviceCores = average('serviceMs') / 1_000
const postgresCores = average('postgresMs') / 1_000
const readCores = (on: 'primary' | 'replica') =>
  (average('postgresMs', ['list']) * REPLICAS.list[on] + average('postgresMs', ['get']) * REPLICAS.get[on]) / 1_000
const creationCores = average('postgresMs', ['create']) / 1_000
const walBytes = MIX.create * (ANIMAL.walBytes + IDEMPOTENCY_KEY.walBytes)
const storageBytes = MIX.create * ANIMAL.bytes

const limits: Limit[] = [
  {
    limit: 'one process',
    room: UTILISATION,
    ofRequest: serviceCores,
    add: 'instances or pods, one process each; at least two for availability',
  },
  {
    limit: "97 connections, PostgreSQL's default less 3 for superusers",
    room: 97,
    ofRequest: (PROCESS_CONNECTIONS * serviceCores) / UTILISATION,
    add: 'a lower `DATABASE_POOL_SIZE`, since batches need few connections; then a higher `max_connections`; then a pooler',
  },
  {
    limit: 'a primary with 4 cores',
    room: 4 * UTILISATION,
    ofRequest: postgresCores,
    add: 'a larger primary',
  },
  {
    limit: 'a primary with 32 cores',
    room: 32 * UTILISATION,
    ofRequest: postgresCores,
    add: `${REPLICAS.count} [read replicas](replicas.md), which execute all reads`,
  },
  {
    limit: 'a primary with 32 cores, and read replicas',
    room: 32 * UTILISATION,
    ofRequest: creationCores + readCores('primary'),
    add: 'a larger primary, or [another engine](scaling.md#other-engines)',
  },
  {
    limit: `${REPLICAS.count} read replicas with 32 cores`,
    room: REPLICAS.count * 32 * UTILISATION,
    ofRequest: readCores('replica'),
    add: 'another read replica',
  },
  {
    limit: '1 TB of new animals a month',
    room: 1e12,
    ofRequest: storageBytes * 30 * DAY,
    add: '[partitions](scaling.md#partition-by-id), and a rule for what is kept',
  },
  {
    limit: '100 MB of WAL a second, to the disk and to each standby',
    room: 100e6,
    ofRequest: walBytes,
    add: 'faster disks and networks; [another engine](scaling.md#other-engines)',
  },
  {
    limit: 'a load balancer with 10 Gbit/s',
    room: 1.25e9,
    ofRequest: average('responseBytes'),
    add: 'load balancers, by DNS or anycast',
  },
  {
    limit: '32 cores with creations only',
    room: 32 * UTILISATION,
    ofRequest: creationCores,
    add: '[another engine](scaling.md#other-engines)',
  },
]

/** The tables of docs/capacity.md by the names of their markers. */
export function capacityTables(): Record<string, string> {
  return { costs: costTable(), inputs: inputTable(), machines: machineTable(), limits: limitTable() }
}

function costTable(): string {
  const rows = Object.entries(COSTS).flatMap(([api, costs]) =>
    Object.entries(costs).map(([action, { serviceMs, postgresMs, responseBytes }]) => [
      `${api} ${action === 'list' ? 'list of 20' : action}`,
      `${serviceMs} ms`,
      `${postgresMs} ms`,
      round(1_000 / serviceMs),
      round(1_000 / postgresMs),
      round(responseBytes),
    ]),
  )
  const mixed = [
    'the mix, creations with a key',
    ...[serviceCores, postgresCores].map((cores) => `${(cores * 1_000).toFixed(3)} ms`),
  ]
  const perCore = [serviceCores, postgresCores].map((cores) => round(1 / cores))
  return table([
    [
      'request',
      'CPU of the service',
      'CPU of PostgreSQL',
      'requests a second of a core',
      '… of a core of PostgreSQL',
      'bytes of the response',
    ],
    ...rows,
    [
      '… with an `Idempotency-Key`',
      `+ ${IDEMPOTENCY_KEY.serviceMs} ms`,
      `+ ${IDEMPOTENCY_KEY.postgresMs} ms`,
      '',
      '',
      '',
    ],
    [...mixed, ...perCore, round(average('responseBytes'))],
  ])
}

function inputTable(): string {
  const perMillion = ({ bytes, walBytes }: typeof ANIMAL) => `${bytes} MB, and ${walBytes} MB of WAL`
  const percent = (part: number) => `${part * 100} %`
  return table([
    ['input', 'value', ''],
    ['a million animals, with indexes', perMillion(ANIMAL), 'measured; names of 14 characters on average'],
    ['a million idempotency keys, with indexes', perMillion(IDEMPOTENCY_KEY), 'measured; keys are UUIDs'],
    ['memory of a process', `${PROCESS_MB} MB`, 'measured, at most'],
    [
      'connections of a process',
      String(PROCESS_CONNECTIONS),
      '[deployment](deployment.md#connection-pools-and-instances)',
    ],
    ['lists, gets and creations', Object.values(MIX).map(percent).join(', '), 'assumed; each creation has a key'],
    ['requests by GraphQL', percent(GRAPHQL_PART), 'assumed'],
    ['busy part of a core', percent(UTILISATION), 'assumed; the rest is for peaks and restarts'],
  ])
}

function machineTable(): string {
  const processes = (rate: number) => Math.ceil((rate * serviceCores) / UTILISATION)
  const quantities: [string, (rate: number) => string][] = [
    [`processes: rate × CPU of the service ÷ ${UTILISATION}`, (rate) => round(processes(rate))],
    [`memory: processes × ${PROCESS_MB} MB`, (rate) => bytes(processes(rate) * PROCESS_MB * 1e6)],
    [`connections: processes × ${PROCESS_CONNECTIONS}`, (rate) => round(processes(rate) * PROCESS_CONNECTIONS)],
    [
      `cores of PostgreSQL: rate × CPU of PostgreSQL ÷ ${UTILISATION}`,
      (rate) => round((rate * postgresCores) / UTILISATION),
    ],
    ['… of these for creations', (rate) => round((rate * creationCores) / UTILISATION)],
    ['responses a second: rate × bytes', (rate) => bytes(rate * average('responseBytes'))],
    ['WAL a second: creations × (animal + key)', (rate) => bytes(rate * walBytes)],
    ['idempotency keys of 24 hours: creations × key', (rate) => bytes(rate * MIX.create * IDEMPOTENCY_KEY.bytes * DAY)],
    ['new animals a day: creations × 86,400', (rate) => `${round((rate * MIX.create * DAY) / 1e6)} million`],
    ['storage of new animals a day: creations × animal', (rate) => bytes(rate * storageBytes * DAY)],
  ]
  return table([
    ['', ...RATES.map((rate) => `${round(rate)} requests a second`)],
    ...quantities.map(([name, of]) => [name, ...RATES.map(of)]),
  ])
}

function limitTable(): string {
  const rated = limits.map((limit) => ({ ...limit, rate: limit.room / limit.ofRequest }))
  // Above the rates of the page, the inputs are not exact enough.
  const listed = rated.filter(({ rate }) => rate <= Math.max(...RATES)).sort((a, b) => a.rate - b.rate)
  return table([
    ['requests a second', 'what is used up', 'what to add'],
    ...listed.map(({ rate, limit, add }) => [round(rate), limit, add]),
  ])
}

/** Two digits that count, since the inputs have no more. */
function round(value: number): string {
  return value < 100 ? String(Number(value.toPrecision(2))) : Number(value.toPrecision(2)).toLocaleString('en')
}

function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']
  const power = Math.min(Math.floor(Math.log10(value) / 3), units.length - 1)
  return `${round(value / 1_000 ** power)} ${units[power]}`
}

function table([head = [], ...rows]: string[][]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
