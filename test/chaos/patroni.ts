import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../support/processes.ts'
import type { Defer } from './assertions.ts'
import { inDatabase } from '../support/postgres.ts'
import { type NodePorts, PASSWORD, toHaproxySettings, toPatroniSettings } from './patroni-settings.ts'
import { createProgramFolder, poll, postgresBin, type ProgramFolder } from './programs.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

/** The programs that a cluster consists of. */
export const PATRONI_PROGRAMS = ['postgres', 'patroni', 'etcd', 'haproxy']

/** How Debian's package manager installs them. */
export const INSTALL_PATRONI = 'apt-get install --no-install-recommends postgresql patroni etcd-server haproxy'

/** Patroni emits no events. */
const POLL_MS = 200

const NODE_NAMES = ['node1', 'node2', 'node3']

/** A node: PostgreSQL and the Patroni that controls it. */
interface PatroniNode {
  name: string
  ports: NodePorts
  /** What it shares with the other nodes and etcd. */
  network: TcpProxy[]
}

/** A member of the cluster, as Patroni's REST API lists it. */
interface Member {
  name: string
  role: string
}

/** Three PostgreSQL under Patroni, with etcd, and HAProxy in front. */
export interface PatroniCluster {
  /** The address of the primary: HAProxy's. */
  url: string
  /** Kills the primary and its Patroni with SIGKILL. @returns a function that starts them again */
  killPrimary(): Promise<() => Promise<void>>
  /** Forwards nothing between the primary and the other nodes or etcd. Clients still reach it. @returns the repair */
  isolatePrimary(): Promise<() => Promise<void>>
  /** Makes a standby the primary, as an operator does before maintenance. */
  switchOver(): Promise<() => Promise<void>>
  /** Waits until another node is the primary and HAProxy has found it. */
  failedOver(): Promise<void>
  /** Waits until every node replicates and Patroni has chosen a synchronous standby. This primary is the next to fail. */
  recovered(): Promise<void>
}

export async function startPatroniCluster(defer: Defer): Promise<PatroniCluster> {
  const folder = await createProgramFolder(defer)
  const etcd = await startEtcd(folder)
  const nodes: PatroniNode[] = []
  for (const name of NODE_NAMES) nodes.push(await startNode(defer, folder, name, etcd))
  const port = await freePort()
  await folder.add('haproxy')
  await writeFile(join(folder.path, 'haproxy', 'config'), toHaproxySettings(port, nodes))
  folder.start('haproxy', 'haproxy', ['-db', '-f', 'config'])
  const url = `postgresql://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`
  let primary = await waitForHealth(url, nodes)

  return {
    url,
    failedOver: () =>
      waitForPrimary(
        url,
        nodes.filter((node) => node !== primary),
      ),
    async recovered() {
      primary = await waitForHealth(url, nodes)
    },
    async killPrimary() {
      const { name } = primary
      await folder.kill(name)
      return async () => startPatroni(folder, name)
    },
    async isolatePrimary() {
      const { network } = primary
      network.forEach((proxy) => proxy.hold('requests', 'responses'))
      return async () => network.forEach((proxy) => proxy.restore())
    },
    async switchOver() {
      const { name, ports } = primary
      const body = JSON.stringify({ leader: name })
      const response = await fetch(`http://127.0.0.1:${ports.api}/switchover`, { method: 'POST', body })
      if (!response.ok) throw new Error(`Patroni refused the switchover: ${await response.text()}`)
      return async () => {}
    },
  }
}

/** @returns the URL of a single etcd */
async function startEtcd(folder: ProgramFolder): Promise<string> {
  await folder.add('etcd')
  const [client, peer] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`]
  folder.start('etcd', 'etcd', [
    ...['--data-dir', 'data', '--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`],
  ])
  await poll(async () => (await fetch(`${client}/health`)).ok)
  return client
}

async function startNode(defer: Defer, folder: ProgramFolder, name: string, etcd: string): Promise<PatroniNode> {
  const [postgres, api] = [await freePort(), await freePort()]
  const targets = [`http://127.0.0.1:${postgres}`, `http://127.0.0.1:${api}`, etcd]
  const network = await Promise.all(targets.map((target) => startTcpProxy(target)))
  network.forEach((proxy) => defer(() => proxy.down()))
  const [ofPostgres = 0, ofApi = 0, ofEtcd = 0] = network.map(({ url }) => Number(new URL(url).port))
  const ports = { postgres, api, network: { postgres: ofPostgres, api: ofApi, etcd: ofEtcd } }
  const path = await folder.add(name)
  await writeFile(join(path, 'config.yml'), toPatroniSettings(name, path, postgresBin ?? '', ports))
  startPatroni(folder, name)
  return { name, ports, network }
}

function startPatroni(folder: ProgramFolder, name: string): void {
  folder.start(name, 'patroni', ['config.yml'])
}

/** @returns the name of the primary, as a node sees it; none if Patroni could not replace the primary without a loss */
async function leaderSeenBy({ ports }: PatroniNode): Promise<string | undefined> {
  const response = await fetch(`http://127.0.0.1:${ports.api}/cluster`)
  const { members } = (await response.json()) as { members: Member[] } // Patroni's REST API
  const replaceable = members.some(({ role }) => role === 'sync_standby')
  return replaceable ? members.find(({ role }) => role === 'leader')?.name : undefined
}

/** Waits until all nodes agree on a replaceable primary, and both others replicate it. @returns the primary */
function waitForHealth(url: string, nodes: PatroniNode[]): Promise<PatroniNode> {
  const standbys = `SELECT count(*)::int FROM pg_stat_replication
    WHERE application_name LIKE 'node_' AND state = 'streaming'`
  return poll(async () => {
    const leaders = new Set(await Promise.all(nodes.map(leaderSeenBy)))
    const { rows } = await inDatabase(url, (client) => client.query(standbys))
    const healthy = leaders.size === 1 && rows[0].count === nodes.length - 1
    return healthy && nodes.find(({ name }) => leaders.has(name))
  }, POLL_MS)
}

/** Waits until one of these nodes is the primary to which HAProxy connects. */
async function waitForPrimary(url: string, nodes: PatroniNode[]): Promise<void> {
  await poll(async () => {
    const { rows } = await inDatabase(url, (client) => client.query('SELECT inet_server_port() AS port'))
    return nodes.some(({ ports }) => ports.postgres === rows[0].port)
  }, POLL_MS)
}
