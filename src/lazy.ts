/** @returns a function that calls `create` at its first call, and always returns that result */
export function lazy<T>(create: () => T): () => T {
  let result: { value: T } | undefined
  return () => (result ??= { value: create() }).value
}

/** @returns a function that calls `create` once for each object, and keeps the result as long as the object is in memory */
export function lazyFor<K extends object, T>(create: (key: K) => T): (key: K) => T {
  const results = new WeakMap<K, { value: T }>()
  return (key) => {
    const result = results.get(key) ?? { value: create(key) }
    results.set(key, result)
    return result.value
  }
}
