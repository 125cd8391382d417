import { EventEmitter } from 'node:events'
import type { Request, Response } from 'express'
import { execute, type OperationDefinitionNode, parse } from 'graphql'
import { type Animal, animals } from '../../../src/pets/animal.ts'
import { createStatements } from '../../../src/database/statements.ts'
import { ApiError } from '../../../src/errors.ts'
import { createResourceServices } from '../../../src/resource-services.ts'
import { createStreams } from '../../../src/graphql/subscription/streams.ts'
import { createSubscribe } from '../../../src/graphql/subscription/subscribe.ts'
import { SSE } from '../../../src/graphql/subscription/transports.ts'
import { Deadline } from '../../../src/http/deadline.ts'
import { EventParser } from '../../support/event-stream.ts'
import { schema } from '../../support/schema.ts'
import type { Clock, Turn } from './clock.ts'
import { matches, type PostgresModel } from './postgres.ts'
import type { ClientPlan, Session } from './schedule.ts'

const PAGE = parse(`query Page($status: PetStatus, $categoryId: ID, $first: Int) {
  pets(status: $status, categoryId: $categoryId, first: $first) { nodes { id name } liveCursor }
}`)
const NEW_DOCUMENT = parse(`subscription New($status: PetStatus, $categoryId: ID, $after: String) {
  petCreated(status: $status, categoryId: $categoryId, after: $after) { node { id name status categoryId } }
}`)
const NEW = { document: NEW_DOCUMENT, operation: NEW_DOCUMENT.definitions[0] as OperationDefinitionNode }
const LAST: Session = { instance: 0, cutAfter: undefined, pauses: 0 }
const TIMEOUT_MS = 500

export interface World {
  turn: Turn
  clock: Clock
  database: PostgresModel
  instances: Instance[]
  fail(message: string): void
}

type Instance = ReturnType<typeof startInstance>

/** An instance of the service without HTTP. */
export function startInstance({ database: { pool } }: World) {
  const statements = createStatements(pool)
  const ofFeed = { feedLoopStatements: statements, feedPageStatements: statements }
  const database = { statements, readCount: statements.readRows, ...ofFeed }
  const services = createResourceServices([animals], database, { maxWaitMs: TIMEOUT_MS, observe() {} })
  const limits = { STREAM_LIMIT: 0, streamsPerClient: Infinity, verifyTimeoutMs: TIMEOUT_MS }
  const streams = createStreams(limits, async () => true)
  const subscribe = createSubscribe(schema, { services, streams, observe() {} })
  return { ...services.of(animals), services, streams, subscribe }
}

/** A client that keeps a live list as docs/live.md says, and compares what it receives with what is true. */
export class Client {
  /** Of the last event, or of the page; undefined without a page. */
  position: bigint | undefined
  /** Whether a response is on its way. */
  isReceiving = false
  /** The list: names by id. */
  readonly #names = new Map<bigint, string>()
  readonly #plan: ClientPlan
  readonly #world: World
  /** The list contains what is above this id. */
  #start = 0n
  #cursor: string | undefined
  readonly #id: bigint

  constructor(id: bigint, plan: ClientPlan, world: World) {
    this.#id = id
    this.#plan = plan
    this.#world = world
  }

  /** The first animal that the list lacks. */
  firstMissing(): bigint | undefined {
    const isMine = matches(this.#plan.filter)
    const { rows } = this.#world.database
    return rows.find((one) => one.id > this.#start && isMine(one) && this.#names.get(one.id) !== one.name)?.id
  }

  checkComplete(): void {
    const missing = this.firstMissing()
    if (missing === undefined || missing > (this.position ?? 0n)) return
    this.#world.fail(`A client continued after ${this.position} without animal ${missing}`)
  }

  async run(): Promise<void> {
    for (let n = 0; ; n++) {
      await this.#wait(1)
      try {
        await this.#connect(this.#plan.sessions[n] ?? LAST)
      } catch (error) {
        if (!(error instanceof ApiError)) this.#world.fail(String(error))
        else if (error.code === 'INVALID_ARGUMENT') this.#cursor = undefined // after a restore
      }
      this.isReceiving = false
    }
  }

  async #connect({ instance: number, cutAfter, pauses }: Session): Promise<void> {
    const { instances, turn } = this.#world
    const instance = instances[number % instances.length]
    if (!instance || (this.#cursor === undefined && !(await this.#readPage(instance)))) return
    const variables = { ...this.#plan.filter, after: this.#cursor }
    const response = Object.assign(new EventEmitter(), { destroyed: false, req: {} })
    const close = () => {
      response.destroyed = true
      response.emit('close')
    }
    if (cutAfter !== undefined) void this.#wait(cutAfter).then(close)
    try {
      const res = response as unknown as Response // all that the service uses of it
      const { stream, nextPart } = await instance.subscribe({ ...NEW, variables }, SSE, toRequest(this.#id), res)
      while (!response.destroyed) {
        await this.#wait(pauses)
        const part = await nextPart().catch((error: unknown) => {
          if (!stream.signal.aborted) throw error
        })
        if (!part || stream.signal.aborted) return // as sendStream does
        this.isReceiving = true
        await turn('network')
        if (!response.destroyed) this.#receive(part.data.toString())
        this.isReceiving = false
      }
    } finally {
      close()
    }
  }

  async #wait(turns: number): Promise<void> {
    for (let n = 0; n < turns; n++) await this.#world.turn('client')
  }

  /** @returns whether there is a page: an open transaction may prevent it */
  async #readPage({ services }: Instance): Promise<boolean> {
    this.isReceiving = true
    const { filter, pageSize } = this.#plan
    const { data, errors } = await execute({
      schema,
      document: PAGE,
      variableValues: { ...filter, first: pageSize },
      contextValue: { services, caller: undefined, deadline: new Deadline(TIMEOUT_MS) },
    })
    if (errors) return false
    const { nodes, liveCursor } = (data as { pets: { nodes: { id: string; name: string }[]; liveCursor: string } }).pets
    this.#names.clear()
    for (const { id, name } of nodes) this.#names.set(BigInt(id), name)
    this.#start = nodes.length < pageSize ? 0n : BigInt(nodes.at(-1)?.id ?? 0) - 1n
    this.#continueAfter(liveCursor)
    this.isReceiving = false
    return true
  }

  #receive(text: string): void {
    const { database, fail } = this.#world
    const parser = new EventParser()
    parser.add(text)
    for (const { id: cursor = '', data } of parser.events) {
      const { node } = (JSON.parse(data) as { data: { petCreated: { node: Animal } } }).data.petCreated
      const id = BigInt(node.id)
      if (id <= (this.position ?? 0n)) fail(`A client received animal ${id} after ${this.position}`)
      if (!database.everVisible.has(`${id} ${node.name}`)) fail(`A client received animal ${id}, which does not exist`)
      if (!matches(this.#plan.filter)(node)) fail(`A client received animal ${id}, which its filter excludes`)
      this.#names.set(id, node.name)
      this.#continueAfter(cursor)
    }
  }

  #continueAfter(cursor: string): void {
    this.#cursor = cursor
    this.position = BigInt(Buffer.from(cursor, 'base64url').toString().split(':')[1] ?? '')
  }
}

/** All that the service reads of a request after authentication. */
function toRequest(clientId: bigint): Request {
  const caller = { keyId: 1n, clientId, keyPrefix: '', scopes: new Set(), expiresAt: null }
  return { headers: {}, rawHeaders: [], caller, deadline: new Deadline(TIMEOUT_MS) } as unknown as Request
}
