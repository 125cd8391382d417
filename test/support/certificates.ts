import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** A certificate, its private key, and what signs others with it. */
export interface Certificate {
  /** PEM */
  certificate: string
  key: string
  name: string
  privateKey: KeyObject
}

/** X.509 in DER, whose values have a tag, a length and a content. */
const der = (tag: number, ...content: Buffer[]): Buffer => {
  const body = Buffer.concat(content)
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const sequence = (...content: Buffer[]): Buffer => der(0x30, ...content)
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const utcTime = (date: Date): Buffer => der(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replace(/\D/g, '')}Z`))
const distinguishedName = (name: string): Buffer =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(name))))) // commonName
const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'))
const subjectAltName = (host: string): Buffer =>
  sequence(oid('551d11'), der(0x04, sequence(der(0x82, Buffer.from(host)))))
const CA_CONSTRAINTS = sequence(oid('551d13'), der(0x04, sequence(der(0x01, Buffer.from([0xff])))))

/**
 * Makes a certificate, so that tests need neither OpenSSL's program nor files that expire.
 * @param name the host, or the name of a certification authority
 * @param issuer undefined for a certification authority, which signs itself
 * @param expiresInDays negative for a certificate that has expired
 */
export function createCertificate(name: string, issuer?: Certificate, expiresInDays = 1): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const daysFromNow = (days: number) => utcTime(new Date(Date.now() + days * 86_400_000))
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, Buffer.from([1])), // serial number
    ECDSA_WITH_SHA256,
    distinguishedName(issuer?.name ?? name),
    sequence(daysFromNow(-10), daysFromNow(expiresInDays)),
    distinguishedName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(issuer ? subjectAltName(name) : CA_CONSTRAINTS)),
  )
  const signature = sign('sha256', content, issuer?.privateKey ?? privateKey)
  const signed = sequence(content, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), signature))
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${signed.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    name,
    privateKey,
  }
}
