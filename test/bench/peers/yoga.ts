/** What a team would write with the same packages: Yoga in Express, Pothos with its Prisma plugin, and Prisma Client. */
import SchemaBuilder from '@pothos/core'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import express from 'express'
import { createYoga } from 'graphql-yoga'
import { PetStatus } from '../../../src/database/generated/client.ts'
import { getDatamodel, type default as PrismaTypes } from '../generated/pothos.ts'
import { host, isAllowed, port } from './peer.ts'
import { createPrismaClient, createPrismaStore } from './prisma-store.ts'
import type { NewAnimal } from './store.ts'

const prisma = createPrismaClient()
const store = createPrismaStore(Number, prisma)

const builder = new SchemaBuilder<{ PrismaTypes: PrismaTypes }>({
  plugins: [PrismaPlugin, RelayPlugin],
  prisma: { client: prisma, dmmf: getDatamodel() },
  relay: { nodesOnConnection: true },
})

const Status = builder.enumType(PetStatus, { name: 'PetStatus' })

builder.prismaObject('Animal', {
  fields: (t) => ({
    id: t.id({ select: { id: true }, resolve: ({ id }) => String(id) }),
    name: t.exposeString('name'),
    categoryId: t.id({ select: { categoryId: true }, resolve: ({ categoryId }) => String(categoryId) }),
    status: t.expose('status', { type: Status, nullable: true }),
  }),
})

const NewPet = builder.inputType('NewPet', {
  fields: (t) => ({
    name: t.string({ required: true }),
    categoryId: t.id({ required: true }),
    status: t.field({ type: Status }),
  }),
})

builder.queryType({
  fields: (t) => ({
    pets: t.prismaConnection({
      type: 'Animal',
      cursor: 'id',
      resolve: (query) => prisma.animal.findMany({ ...query, orderBy: { id: 'desc' } }),
    }),
    pet: t.prismaField({
      type: 'Animal',
      nullable: true,
      args: { id: t.arg.id({ required: true }) },
      resolve: (query, _root, { id }) => prisma.animal.findUnique({ ...query, where: { id: BigInt(id) } }),
    }),
  }),
})

builder.mutationType({
  fields: (t) => ({
    createPet: t.prismaField({
      type: 'Animal',
      args: { input: t.arg({ type: NewPet, required: true }) },
      resolve: (query, _root, { input: { name, categoryId, status } }) =>
        prisma.animal.create({ ...query, data: { name, categoryId: BigInt(categoryId), status: status ?? null } }),
    }),
  }),
})

const yoga = createYoga({ schema: builder.toSchema(), logging: false })

const app = express()
app.use((req, res, next) => {
  if (isAllowed(req.headers.authorization)) next()
  else res.status(401).json({ message: 'No key' })
})
app.get('/v1/pets', async (req, res) => {
  const { limit = '20', cursor } = req.query as { limit?: string; cursor?: string } // the bench sends nothing else
  const { animals, more } = await store.list(Number(limit), cursor)
  if (more) res.links({ next: `/v1/pets?limit=${limit}&cursor=${animals.at(-1)?.id}` })
  res.json(animals)
})
app.get('/v1/pets/:id', async (req, res) => {
  const animal = await store.get(req.params.id)
  if (animal) res.json(animal)
  else res.status(404).json({ message: 'No such animal' })
})
app.post('/v1/pets', express.json(), async (req, res) => {
  const animal = await store.create(req.body as NewAnimal) // not validated, as in the other peers
  res.status(201).location(`/v1/pets/${animal.id}`).json(animal)
})
app.use(yoga.graphqlEndpoint, yoga)
app.listen(port, host)
