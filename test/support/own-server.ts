import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { useEmbeddedPostgres } from '../../src/database/embedded.ts'
import { copyCluster, memoryFolder } from './postgres.ts'

interface Options {
  settings?: string[]
  /** Takes a second, and gives the server a system identifier of its own. */
  initialise?: boolean
  /** Prepares the folder before the start. */
  prepare?(folder: string): Promise<void>
}

/** Starts a PostgreSQL for what belongs to a whole server. */
export async function startOwnServer({ settings = [], initialise = false, prepare }: Options = {}) {
  const folder = await mkdtemp(join(memoryFolder() ?? tmpdir(), 'pet-store-server-'))
  if (!initialise) await copyCluster(inject('initialisedCluster'), folder)
  await prepare?.(folder)
  const { url, release } = await useEmbeddedPostgres(folder, settings)
  async function stop(): Promise<void> {
    await release()
    await rm(folder, { recursive: true, force: true })
  }
  return { url, folder, stop }
}
