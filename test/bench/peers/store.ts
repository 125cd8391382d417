/** An animal, its int64 as text for GraphQL or as numbers for REST. */
export interface Animal<Int> {
  id: Int
  name: string
  categoryId: Int
  status: Status | null
}

export type Status = 'available' | 'pending' | 'sold'

export interface NewAnimal {
  name: string
  categoryId: number | string
  status?: Status | null
}

export interface Page<Int> {
  animals: Animal<Int>[]
  more: boolean
}

/** What a peer does, by whichever means it reaches the database. */
export interface Store<Int> {
  /** Newest first, those older than an id if one is given. */
  list(limit: number, olderThan: string | undefined): Promise<Page<Int>>
  get(id: string): Promise<Animal<Int> | undefined>
  create(animal: NewAnimal): Promise<Animal<Int>>
}
