/** @returns finds the template that a path matches; `other` when it matches none */
export function createRouteOf(templates: string[]): (path: string) => string {
  const fixed = new Set(templates.filter((template) => !template.includes('{')))
  const patterns = templates
    .filter((template) => template.includes('{'))
    .map((template) => [template, new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`)] as const)
  return (path) => (fixed.has(path) ? path : (patterns.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other'))
}
