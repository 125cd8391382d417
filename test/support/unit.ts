import { read } from './files.ts'

/** The template unit of systemd, in which %i is the port of an instance. */
export const unit = read('deploy/pet-store@.service')

/** The value of a setting that the unit has once. */
export const unitValue = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? ''

/** The environment of the instance on a port, without what the installation sets. */
export function unitEnvironment(port: number): Record<string, string> {
  const variables = unitValue('Environment').replaceAll('%i', String(port)).split(' ')
  return Object.fromEntries(variables.map((text) => text.split('=')))
}
