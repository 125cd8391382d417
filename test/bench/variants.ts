import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Dialect, plainDialect, pothosDialect, postgraphileDialect, serviceDialect } from './dialects.ts'
import { bun, node22, root } from './paths.ts'
import type { Api } from './workloads.ts'

/** A program that is measured, as a process of its own. */
export interface Variant {
  name: string
  title: string
  apis: Api[]
  dialect: Dialect
  /** What the program runs, with its options. */
  args: string[]
  env?: Record<string, string>
  /** If it is not the Node that runs this. */
  program?: string
}

const serviceOptions = ['--max-semi-space-size=16', '--heap-growing-percent=50', '--enable-source-maps']
const service = { args: [...serviceOptions, join(root, 'dist/main.js')], dialect: serviceDialect }
const both: Api[] = ['rest', 'graphql']

const rest = (file: string) => ({ apis: ['rest' as const], dialect: plainDialect, args: [peer(file)] })
const graphql = (file: string) => ({ apis: ['graphql' as const], dialect: plainDialect, args: [peer(file)] })
const own = (file: string) => ({
  apis: ['graphql' as const],
  dialect: serviceDialect,
  args: [...serviceOptions, join(root, `dist/test/${file}.js`)],
})
const tuned = { env: { TUNED: 'true' } }

/** The service first; of the peers of an API the first is the one that all are held against. */
export const variants: Variant[] = [
  { name: 'service', title: 'this service', apis: both, ...service },
  { name: 'raw', title: 'node:http + pg', ...rest('raw') },
  { name: 'raw-batched', title: 'node:http + pg, batched', ...rest('raw'), env: { BATCHED: 'true' } },
  {
    name: 'raw-pipelined',
    title: 'node:http + postgres.js, pipelined',
    ...rest('raw'),
    env: { PIPELINED: 'true' },
  },
  ...(bun ? [{ name: 'bun', title: 'Bun.serve + Bun.sql', ...rest('bun'), program: bun }] : []),
  { name: 'nest', title: 'NestJS + Prisma', ...rest('nest') },
  { name: 'nest-tuned', title: 'NestJS on Fastify + Prisma, tuned', ...rest('nest'), ...tuned },
  { name: 'mercurius-pg', title: 'Mercurius JIT + pg', ...graphql('mercurius-pg') },
  {
    name: 'mercurius-batched',
    title: 'Mercurius JIT + pg, batched',
    ...graphql('mercurius-pg'),
    env: { BATCHED: 'true' },
  },
  { name: 'yoga', title: 'Yoga in Express, Pothos + Prisma', apis: both, dialect: pothosDialect, args: [peer('yoga')] },
  { name: 'service-yoga', title: 'this schema and store, Yoga in Express', ...own('service-yoga') },
  { name: 'without-executor', title: 'this service without its executor', ...own('without-executor') },
  { name: 'query-raw', title: 'this service on $queryRaw', ...own('query-raw'), apis: both, ...tuned },
  { name: 'mercurius', title: 'Mercurius JIT + Prisma', ...graphql('mercurius') },
  { name: 'mercurius-tuned', title: 'Mercurius JIT + Prisma, tuned', ...graphql('mercurius'), ...tuned },
  { name: 'apollo', title: 'Apollo + Prisma', ...graphql('apollo') },
  { name: 'apollo-tuned', title: 'Apollo + Prisma, tuned', ...graphql('apollo'), ...tuned },
  ...(node22
    ? [
        {
          name: 'postgraphile',
          title: 'PostGraphile (Node 22)',
          ...graphql('postgraphile'),
          dialect: postgraphileDialect,
          program: node22,
        },
      ]
    : []),
]

/** Peers that are left out where npm brings no program for the platform. */
export const OPTIONAL_PEERS = ['bun', 'postgraphile']

function peer(file: string): string {
  return fileURLToPath(new URL(`peers/${file}.js`, import.meta.url))
}
