// What the values of variables may be, as text that becomes what it means.
import { z } from 'zod'

export const flag = z.enum(['true', 'false']).transform((text) => text === 'true')
export const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((n) => n >= min && n <= max, `must be a whole number from ${min} to ${max}`)

export const milliseconds = whole(1, 600_000)
export const baseAddress = z
  .string()
  .refine(
    (url) => /^https:\/\/[^\s?#]+\/v1$/.test(url) && URL.canParse(url),
    'must be a URL that begins with https:// and ends with /v1',
  )

/** What Express knows as a proxy. */
const proxy = z.union(
  [z.enum(['loopback', 'linklocal', 'uniquelocal']), z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
  'must be addresses or networks, separated by commas',
)

export const proxies = z
  .string()
  .transform((list) => list.split(',').map((network) => network.trim()))
  .pipe(proxy.array())
