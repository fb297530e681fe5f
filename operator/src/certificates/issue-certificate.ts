import { createPrivateKey, generateKeyPair, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import forge from 'node-forge';

/** node-forge supports only RSA keys. */
const KEY_BITS = 2048;
/** The clocks of two nodes may differ by this much. */
const SKEW_MS = 5 * 60_000;
const SERIAL_BYTES = 16;
const SHA256 = 'sha256';

/** Its types lack the part of a certificate that is signed. */
const pki = forge.pki as typeof forge.pki & { getTBSCertificate(certificate: forge.pki.Certificate): forge.asn1.Asn1 };

/** A certificate and its private key, PEM. */
export interface IssuedCertificate {
  certificate: string;
  key: string;
}

interface CertificateRequest {
  commonName: string;
  /** What it is for: signing others, or taking part in TLS. */
  purpose: 'authority' | ('server' | 'client')[];
  /** DNS names and addresses. */
  names: string[];
  /** Milliseconds since 1970 UTC. */
  notBefore: number;
  notAfter: number;
}

/**
 * Issues a certificate, with a new key. node-forge only encodes it: node:crypto creates the key and the signature.
 * @param issuer undefined for a self-signed certificate.
 */
export async function issueCertificate(
  request: CertificateRequest,
  issuer?: IssuedCertificate,
): Promise<IssuedCertificate> {
  const pair = await promisify(generateKeyPair)('rsa', { modulusLength: KEY_BITS });
  const key = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(pair.publicKey.export({ type: 'spki', format: 'pem' }).toString());
  certificate.serialNumber = serialNumber(randomBytes(SERIAL_BYTES));
  certificate.validity.notBefore = new Date(request.notBefore - SKEW_MS);
  certificate.validity.notAfter = new Date(request.notAfter);
  const subject = [{ name: 'commonName', value: request.commonName }];
  certificate.setSubject(subject);
  certificate.setIssuer(
    issuer === undefined ? subject : forge.pki.certificateFromPem(issuer.certificate).subject.attributes,
  );
  certificate.setExtensions(extensionsOf(request));
  const signingKey = issuer === undefined ? pair.privateKey : createPrivateKey(issuer.key);
  const signer = {
    sign: () => {
      const bytes = forge.asn1.toDer(pki.getTBSCertificate(certificate)).getBytes();
      return sign(SHA256, Buffer.from(bytes, 'latin1'), signingKey).toString('latin1');
    },
  };
  certificate.sign(signer as unknown as forge.pki.rsa.PrivateKey, forge.md.sha256.create());
  return { certificate: forge.pki.certificateToPem(certificate).replaceAll('\r\n', '\n'), key };
}

/**
 * In hexadecimal digits: positive, and in its shortest form, whatever the random bytes begin with. node-forge writes it
 * as it is, and OpenSSL rejects a certificate with a superfluous leading zero.
 */
export function serialNumber(random: Uint8Array): string {
  const [first = 0, ...rest] = random;
  return Buffer.from([(first & 0x3f) | 0x40, ...rest]).toString('hex');
}

function extensionsOf({ purpose, names }: CertificateRequest): object[] {
  if (purpose === 'authority') {
    return [
      { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
      { name: 'subjectKeyIdentifier' },
    ];
  }
  const altNames = names.map((name) => (isIP(name) === 0 ? { type: 2, value: name } : { type: 7, ip: name }));
  return [
    { name: 'basicConstraints', cA: false, critical: true },
    { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
    { name: 'extKeyUsage', serverAuth: purpose.includes('server'), clientAuth: purpose.includes('client') },
    ...(altNames.length === 0 ? [] : [{ name: 'subjectAltName', altNames }]),
  ];
}
