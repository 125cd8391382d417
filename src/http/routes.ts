/** Path templates of all routes: logs, metrics and spans name these instead of paths. */
export const ROUTES = [
  '/v1/pets',
  '/v1/pets/{petId}',
  '/graphql',
  '/docs',
  '/docs/{file}',
  '/openapi.json',
  '/livez',
  '/readyz',
  '/metrics',
]

/** @returns a function from a path to the template that it matches; `other` for a path that matches none */
export function createRouteMatcher(templates: string[]): (path: string) => string {
  const staticRoutes = new Set(templates.filter((template) => !template.includes('{')))
  const patterns = templates
    .filter((template) => template.includes('{'))
    .map((template) => [template, new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`)] as const)
  return (path) =>
    staticRoutes.has(path) ? path : (patterns.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other')
}

/** The route of a path. */
export const routeOf = createRouteMatcher(ROUTES)
