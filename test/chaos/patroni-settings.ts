/** The settings of docs/database.md, in seconds. */
export const TIMES = { ttl: 20, loopWait: 2, retryTimeout: 5, healthCheck: 0.5 } as const

export const PASSWORD = 'secret'

/** Ports on the loopback interface. */
export interface NodePorts {
  postgres: number
  api: number
  /** Through which the other nodes reach this one, and this one reaches etcd. */
  network: { postgres: number; api: number; etcd: number }
}

/** The configuration of Patroni on one node; JSON is YAML, too. */
export function toPatroniSettings(name: string, folder: string, bin: string, ports: NodePorts): string {
  const local = (port: number) => `127.0.0.1:${port}`
  return JSON.stringify({
    scope: 'pets',
    name,
    restapi: { listen: local(ports.api), connect_address: local(ports.network.api) },
    etcd3: { hosts: local(ports.network.etcd), use_proxies: true },
    bootstrap: {
      dcs: {
        ttl: TIMES.ttl,
        loop_wait: TIMES.loopWait,
        retry_timeout: TIMES.retryTimeout,
        synchronous_mode: true,
        postgresql: { use_pg_rewind: true, parameters: { wal_sender_timeout: '5s' } },
      },
      initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
    },
    postgresql: {
      listen: local(ports.postgres),
      connect_address: local(ports.network.postgres),
      data_dir: `${folder}/data`,
      bin_dir: bin,
      pgpass: `${folder}/pgpass`,
      authentication: {
        superuser: { username: 'postgres', password: PASSWORD },
        replication: { username: 'replicator', password: PASSWORD },
      },
      pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 md5', 'host replication all 127.0.0.1/32 md5'],
      parameters: { unix_socket_directories: folder, dynamic_shared_memory_type: 'mmap' },
    },
  })
}

/** The section "listen primary" equals that of docs/database.md. */
export const toHaproxySettings = (port: number, nodes: { name: string; ports: NodePorts }[]): string => `
defaults
  mode tcp
  timeout connect 1s
  timeout client 30m
  timeout server 30m
listen primary
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map(({ name, ports }) => `  server ${name} 127.0.0.1:${ports.postgres} check port ${ports.api}`).join('\n')}
`
