import { X509Certificate } from 'node:crypto';
import { issueCertificate, serialNumber } from './issue-certificate.ts';

describe('issueCertificate', () => {
  it('numbers positively and without a leading zero, whatever is drawn: a certificate with one cannot be read', () => {
    for (let first = 0; first <= 0xff; first += 1) {
      const number = serialNumber(Uint8Array.from([first, 0, ...Array.from({ length: 14 }, () => 0xff)]));
      expect(number).toMatch(/^[4-7][0-9a-f]00(?:ff){14}$/);
    }
  });

  it('makes one that Node reads, with its number', async () => {
    const now = Date.now();
    const { certificate } = await issueCertificate({
      commonName: 'router',
      purpose: ['client'],
      names: [],
      notBefore: now,
      notAfter: now + 60_000,
    });
    expect(new X509Certificate(certificate).serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
  });
});
