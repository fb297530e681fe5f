import { HOME, localTarget } from './local-target.ts';

describe('where sign-in leads (M7)', () => {
  it.each([
    '/',
    '/web/functions/hello?tab=logs&since=2026-01-01T00:00:00Z#line-7',
    '/web/sources/a/files/src%2Fhandler.ts',
    '/web/search?q=a%2F%2Fb//c',
    '/web/k%C3%A4fer',
    '/api/auth/session',
  ])('may be %s', (target) => {
    expect(localTarget(target)).toBe(target);
    expect(new URL(target, 'https://wherry.example').origin).toBe('https://wherry.example');
  });

  it.each([
    [undefined],
    [''],
    ['web/functions'],
    ['//evil.example'],
    ['///evil.example'],
    ['/\\evil.example'],
    ['\\\\evil.example'],
    ['/web//evil.example'],
    ['/.//evil.example'],
    ['/a/..//evil.example'],
    ['https:evil.example'],
    ['https://evil.example'],
    ['https://wherry.example/web'],
    ['javascript:alert(1)'],
    ['data:text/html,x'],
    [' //evil.example'],
    ['/ /evil.example'],
    ['/\t/evil.example'],
    ['/\n/evil.example'],
    ['\u0000//evil.example'],
    ['/web\r\nSet-Cookie: a=b'],
    ['/%2fevil.example'],
    ['/%2F%2Fevil.example'],
    ['%2f%2fevil.example'],
    ['/%5cevil.example'],
    ['/%5C%5Cevil.example'],
    ['/%09/evil.example'],
    ['/%0d%0aSet-Cookie:a=b'],
    ['/%00'],
    ['/%252fevil.example'],
    ['/%25252fevil.example'],
    ['/%'],
    ['/%ff'],
    ['/käfer'],
    ['/web?q=a\\b'],
    ['/web#<script>'],
    ['/@evil.example/\u2028'],
    ['/api/auth/oidc/start'],
    ['/web/../api/auth/oidc/start?to=/'],
    ['/api/auth/%6fidc/callback'],
    [`/${'a'.repeat(2048)}`],
  ])('is the home page for %j', (target) => {
    expect(localTarget(target)).toBe(HOME);
  });
});
