import ipaddr from 'ipaddr.js'

/** The client's IPv4 address, or its IPv6 network of 64 bits. Some proxies append the port to X-Forwarded-For. */
export function clientNetwork({ ip = '' }: { ip?: string | undefined }): string {
  const withoutPort = ip.replace(/^(?:\[(.+)\]|([\d.]+))(?::\d+)?$/, '$1$2')
  if (!ipaddr.isValid(withoutPort)) return 'unknown' // all such addresses count as one client
  const address = ipaddr.process(withoutPort) // an IPv4-mapped address counts as the IPv4 address
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}
