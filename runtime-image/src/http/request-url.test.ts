import { fc } from '@wherry/testing/properties.ts';
import { RequestUrls } from './request-url.ts';

describe('RequestUrls', () => {
  it.each([
    ['http', 'example.com', '/a?b=c', 'http://example.com/a?b=c'],
    ['https', 'EXAMPLE.com:8443', '/', 'https://example.com:8443/'],
    ['https', 'example.com:443', '/', 'https://example.com/'],
    ['http', '[::1]:80', '/x', 'http://[::1]/x'],
    ['http', undefined, '/x', 'http://localhost/x'],
    ['http', 'a b', '/x', 'http://localhost/x'],
    ['http', 'user@host', '/x', 'http://localhost/x'],
    ['http', 'host/path', '/x', 'http://localhost/x'],
    ['http', 'example.com', '/a%2Fb%zz?q="', 'http://example.com/a%2Fb%zz?q=%22'],
  ])('%s %s %s', (scheme, host, target, url) => {
    expect(new RequestUrls().absolute(scheme, host, target)).toBe(url);
  });

  it("is what a web URL's parser makes of it, for any target", () => {
    const urls = new RequestUrls();
    const target = fc
      .string({ unit: fc.constantFrom(...'/ab.%2e?#"\'<>|^`~é:@;=&[]\\'), maxLength: 20 })
      .map((text) => `/${text}`);
    fc.assert(
      fc.property(target, (path) => {
        expect(urls.absolute('http', 'example.com', path)).toBe(new URL(`http://example.com${path}`).href);
      }),
    );
  });
});
