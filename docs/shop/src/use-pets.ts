import { useEffect, useState } from 'react'
import { mergePet, watch } from './live.ts'
import type { Filter, Page, Pet, PetStore } from './store.ts'

interface List {
  pets: Pet[]
  /** Of the last page; absent before the first one. */
  pageInfo?: Page['pageInfo']
  problem?: string
}

/** A list that pages, and grows by itself. */
export function usePets(store: PetStore, filter: Filter) {
  const [list, setList] = useState<List>({ pets: [] })
  const add = (pet: Pet) => setList((list) => ({ ...list, pets: mergePet(list.pets, pet) }))

  useEffect(() => {
    const setProblem = (problem: string) => setList((list) => ({ ...list, problem }))
    setList({ pets: [] })
    return watch(
      {
        async read() {
          const result = await store.readPage(filter)
          if (result.error) setProblem('The shop cannot be reached just now. It will be tried again.')
          return result
        },
        subscribe: (...args) => store.subscribe(filter, ...args),
      },
      {
        begin: ({ nodes: pets, pageInfo }) => setList({ pets, pageInfo }),
        add,
        fail: () => setProblem('New animals are not shown any more. Please reload the page.'),
      },
    )
  }, [store, filter])

  async function loadMore() {
    const { page } = await store.readPage(filter, list.pageInfo?.endCursor)
    setList((now) => {
      if (now.pageInfo !== list.pageInfo) return now // another filter was chosen, or the page came twice
      if (!page) return { ...now, problem: 'There was no response. Please try again.' }
      return { pets: page.nodes.reduce(mergePet, now.pets), pageInfo: page.pageInfo }
    })
  }

  return { ...list, add, loadMore }
}
