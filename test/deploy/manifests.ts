import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Deployment } from 'kubernetes-types/apps/v1.d.ts'
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.d.ts'
import type { Job } from 'kubernetes-types/batch/v1.d.ts'
import type { Service } from 'kubernetes-types/core/v1.d.ts'
import type { Ingress, NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.d.ts'
import { parse } from 'yaml'
import { z } from 'zod'

export type Manifest =
  Deployment | HorizontalPodAutoscaler | Ingress | Job | NetworkPolicy | PodDisruptionBudget | Service

/** The folder of an environment, or of what they share. */
export const folderOf = (name: string) => fileURLToPath(new URL(`../../deploy/kubernetes/${name}`, import.meta.url))

/** Kustomize could do more; whatever it would do with other members, the tests would not see. */
const kustomization = {
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
}
const Base = z.strictObject({
  ...kustomization,
  resources: z.array(z.string()),
  images: z.array(z.strictObject({ name: z.string(), newName: z.string(), newTag: z.string() })),
})
const Operations = z.array(z.strictObject({ op: z.literal('replace'), path: z.string(), value: z.json() }))
const Overlay = z.strictObject({
  ...kustomization,
  namespace: z.string(),
  resources: z.tuple([z.literal('../base')]),
  patches: z.array(z.strictObject({ target: z.strictObject({ kind: z.string() }), patch: z.string() })),
})

const read = (file: string): unknown => parse(readFileSync(folderOf(file), 'utf8'))

/** The manifests of an environment, merged like `kubectl kustomize` merges them. */
export function render(environment: string): Manifest[] {
  const { namespace, patches } = Overlay.parse(read(`${environment}/kustomization.yaml`))
  const { resources, images } = Base.parse(read('base/kustomization.yaml'))
  const manifests = resources.map((file) => read(`base/${file}`) as Manifest) // typeErrors() checks it
  for (const manifest of manifests) {
    manifest.metadata = { ...manifest.metadata, namespace }
    for (const container of podOf(manifest)?.containers ?? []) {
      const image = images.find(({ name }) => name === container.image)
      if (image) container.image = `${image.newName}:${image.newTag}`
    }
  }
  for (const { target, patch } of patches) {
    const targets = manifests.filter(({ kind }) => kind === target.kind)
    if (targets.length !== 1) throw new Error(`${targets.length} manifests are a ${target.kind}`)
    for (const { path, value } of Operations.parse(parse(patch))) replaceAt(targets[0], path.slice(1).split('/'), value)
  }
  return manifests
}

function replaceAt(node: unknown, [key = '', ...rest]: string[], value: unknown): void {
  if (typeof node !== 'object' || node === null || !(key in node)) throw new Error(`There is no ${key} to replace`)
  const members = node as Record<string, unknown> // an array, too, has its elements by key
  if (rest.length) replaceAt(members[key], rest, value)
  else members[key] = value
}

/** The only manifest of a kind. */
export function manifestOf<K extends Manifest['kind']>(
  manifests: Manifest[],
  kind: K,
): Extract<Manifest, { kind?: K }> {
  const found = manifests.filter((one): one is Extract<Manifest, { kind?: K }> => one.kind === kind)
  const [first] = found
  if (!first || found.length > 1) throw new Error(`${found.length} manifests are a ${kind}`)
  return first
}

/** What the pods of a manifest are; undefined if it has none. */
export function podOf(manifest: Manifest) {
  return manifest.kind === 'Deployment' || manifest.kind === 'Job' ? manifest.spec?.template.spec : undefined
}

/** Checks manifests against the types of the Kubernetes API: unknown, missing and wrong members are errors. */
export function typeErrors(manifests: unknown[]): string[] {
  const text = manifests.map((manifest, n) => {
    const { apiVersion, kind } = z.looseObject({ apiVersion: z.string(), kind: z.string() }).parse(manifest)
    const [group = '', version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion]
    const from = `kubernetes-types/${group.replace(/\.k8s\.io$/, '')}/${version}.d.ts`
    return `import type { ${kind} as Type${n} } from '${from}'\nexport const manifest${n}: Type${n} = ${JSON.stringify(manifest)}`
  })
  const folder = mkdtempSync(fileURLToPath(new URL('../../dist/test-manifests-', import.meta.url)))
  writeFileSync(join(folder, 'manifests.ts'), text.join('\n'))
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', types: [], lib: ['es5'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  const { stdout } = spawnSync(process.execPath, [compiler, '--project', folder, '--pretty', 'false'], {
    encoding: 'utf8',
  })
  rmSync(folder, { recursive: true })
  return [...stdout.matchAll(/error TS\d+: (.*)/g)].map(([, message = '']) => message)
}
