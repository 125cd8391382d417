import { type PetStoreError, retryDelayMs } from './errors.ts'

/** What an animal is to a list. */
interface Listed {
  id: string
}

/** How a client reads the first page, and what is added after it. */
export interface Source<Pet extends Listed, Page extends { liveCursor: string }> {
  read(): Promise<{ page?: Page; error?: PetStoreError }>
  /** Calls `next` for each event, and `end` when no more will come. @returns stops it */
  subscribe(
    after: string,
    next: (event: { cursor: string; node: Pet }) => void,
    end: (error?: PetStoreError) => void,
  ): () => void
}

/** Receives what a list is to show. */
export interface View<Pet extends Listed, Page> {
  /** Replaces the list. */
  begin(page: Page): void
  add(pet: Pet): void
  /** The list no longer grows, because the key is not valid any more, for example. */
  fail(error: PetStoreError): void
}

/** Newest first. An event may be in the list already, or belong between two animals of it. */
export function mergePet<Pet extends Listed>(pets: Pet[], pet: Pet): Pet[] {
  const at = pets.findIndex(({ id }) => BigInt(id) <= BigInt(pet.id))
  if (at === -1) return [...pets, pet]
  return pets[at]?.id === pet.id ? pets : pets.toSpliced(at, 0, pet)
}

const MAX_DELAY_MS = 30_000

/** Reads a page, then what is added. Whatever fails is repeated, unless that cannot help. @returns stops it */
export function watch<Pet extends Listed, Page extends { liveCursor: string }>(
  { read, subscribe }: Source<Pet, Page>,
  view: View<Pet, Page>,
): () => void {
  let after: string | undefined
  let failures = 0
  let stopped = false
  let stop = () => {}

  async function begin(): Promise<PetStoreError | undefined> {
    const { page, error } = await read()
    if (!page || stopped) return error
    view.begin(page)
    return follow((after = page.liveCursor))
  }

  async function follow(cursor: string): Promise<PetStoreError | undefined> {
    function receive(event: { cursor: string; node: Pet }) {
      if (stopped) return // clients may call it after they were stopped
      ;[after, failures] = [event.cursor, 0]
      view.add(event.node)
    }
    const error = await new Promise<PetStoreError | undefined>((end) => (stop = subscribe(cursor, receive, end)))
    stop()
    return error
  }

  async function run() {
    for (;;) {
      const startedAt = Date.now()
      const error = await (after ? follow(after) : begin())
      if (stopped) return
      const isRestored = after && error?.code === 'INVALID_ARGUMENT' // to a state before the cursor: read a new page
      if (isRestored) after = undefined
      else if (error && retryDelayMs(error, 1) === undefined) return view.fail(error)
      if (Date.now() - startedAt > MAX_DELAY_MS) failures = 0
      // Random, so that clients whose connections ended together do not return together.
      const delayMs = Math.min(1_000 * 2 ** failures++, MAX_DELAY_MS) * (0.5 + Math.random() / 2)
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      if (stopped) return
    }
  }
  void run()
  return () => {
    stopped = true
    stop()
  }
}

/** A fetch for streams: its response fails when it is silent, and an error arrives when a retry is allowed. */
export function createStreamFetch(maxSilenceMs = 30_000): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const retryAfter = Number(response.headers.get('Retry-After') ?? 0)
    if (retryAfter) await new Promise((resolve) => setTimeout(resolve, retryAfter * 1_000))
    const isStream = /event-stream|multipart/.test(response.headers.get('Content-Type') ?? '')
    return isStream ? new Response(response.body?.pipeThrough(failWhenSilent(maxSilenceMs)), response) : response
  }
}

/** The service sends something every 12 seconds. A connection that sends nothing is dead: after sleep, for example. */
function failWhenSilent(maxSilenceMs: number) {
  let timer: ReturnType<typeof setTimeout>
  function restart(controller: TransformStreamDefaultController) {
    clearTimeout(timer)
    timer = setTimeout(() => controller.error(new Error('The stream is silent.')), maxSilenceMs)
  }
  return new TransformStream<Uint8Array, Uint8Array>({
    start: restart,
    transform(chunk, controller) {
      restart(controller)
      controller.enqueue(chunk)
    },
    flush: () => clearTimeout(timer),
  })
}
