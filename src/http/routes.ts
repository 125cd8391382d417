/** The template of the route that a path matches; `other` when it matches none. Logs, metrics and spans name it. */
export type RouteOf = (path: string) => string

export function createRouteOf(templates: string[]): RouteOf {
  const fixed = new Set(templates.filter((template) => !template.includes('{')))
  const patterns = templates
    .filter((template) => template.includes('{'))
    .map((template) => [template, new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`)] as const)
  return (path) => (fixed.has(path) ? path : (patterns.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other'))
}
