import type { TestService } from '../support/harness.ts'

const statuses = ['available', 'pending', 'sold'] as const

/** @returns the names of the animals added, newest first; the newest is sold, as each third one from it */
export async function fill(service: TestService, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `animal ${i}`)
  for (const [i, name] of names.entries()) await service.post({ name, categoryId: 1, status: statuses[i % 3] })
  return names.reverse()
}
