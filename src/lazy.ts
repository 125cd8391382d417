/** @returns the result of `create`, which is called once, when it is needed */
export function lazy<T>(create: () => T): () => T {
  let result: { value: T } | undefined
  return () => (result ??= { value: create() }).value
}

/** @returns the result of `create` for an object, which is called once for each, as long as the object is kept */
export function lazyFor<K extends object, T>(create: (key: K) => T): (key: K) => T {
  const results = new WeakMap<K, { value: T }>()
  return (key) => {
    const result = results.get(key) ?? { value: create(key) }
    results.set(key, result)
    return result.value
  }
}
