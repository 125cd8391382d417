/** Path templates of all routes: logs, metrics and spans name these instead of paths. */
const ROUTES = [
  '/',
  '/v1/pets',
  '/v1/pets/{petId}',
  '/graphql',
  '/schema.graphql',
  '/docs',
  '/assets/{file}',
  '/openapi.json',
  '/livez',
  '/readyz',
  '/metrics',
]

const STATIC_ROUTES = new Set(ROUTES.filter((template) => !template.includes('{')))
const PATTERNS = ROUTES.filter((template) => template.includes('{')).map(
  (template) => [template, new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`)] as const,
)

/** @returns the template that a path matches; `other` when it matches none */
export function routeOf(path: string): string {
  return STATIC_ROUTES.has(path) ? path : (PATTERNS.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other')
}
