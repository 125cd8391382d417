/** @returns a function that calls `create` at its first call, and always returns that result */
export function lazy<T extends object | string>(create: () => T): () => T {
  let result: T | undefined
  return () => (result ??= create())
}

/** @returns a function that calls `create` once for each object, and keeps the result as long as the object is in memory */
export function lazyFor<K extends object, T extends object | string>(create: (key: K) => T): (key: K) => T {
  const results = new WeakMap<K, T>()
  return (key) => {
    const result = results.get(key) ?? create(key)
    results.set(key, result)
    return result
  }
}
