import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Deployment } from 'kubernetes-types/apps/v1.d.ts'
import type { Job } from 'kubernetes-types/batch/v1.d.ts'
import type { Service } from 'kubernetes-types/core/v1.d.ts'
import type { Ingress, NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import { parse } from 'yaml'

const base = fileURLToPath(new URL('../../deploy/kubernetes/base/', import.meta.url))

/** The manifests that both environments share, by file. typeErrors() checks them. */
export const manifests = Object.fromEntries(
  readdirSync(base)
    .filter((file) => file !== 'kustomization.yaml')
    .map((file) => [file, parse(readFileSync(join(base, file), 'utf8'))]),
) as {
  'deployment.yaml': Deployment
  'ingress.yaml': Ingress
  'migration.yaml': Job
  'network-policy.yaml': NetworkPolicy
  'service.yaml': Service
  [file: string]: { apiVersion?: string; kind?: string }
}

/** Checks manifests against the types of the Kubernetes API: unknown, missing and wrong members are errors. */
export function typeErrors(checked: { apiVersion?: string; kind?: string }[]): string[] {
  const text = checked.map((manifest, n) => {
    const { apiVersion = '', kind } = manifest
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
