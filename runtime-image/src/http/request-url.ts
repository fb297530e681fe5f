/** What a web URL's parser would leave as it is. */
const PLAIN_TARGET = /^\/[A-Za-z0-9\-._~!$&()*+,;=:@%/?]*$/;

/** Makes absolute URLs of the caller's targets. Remembers the last Host: most calls have the same one. */
export class RequestUrls {
  #scheme = '';
  #host: string | undefined;
  #origin = '';

  /** `request.url`: the caller's scheme and Host, and the path without `/run`. */
  absolute(scheme: string, host: string | undefined, target: string): string {
    if (scheme !== this.#scheme || host !== this.#host) {
      this.#origin = originOf(scheme, host);
      this.#scheme = scheme;
      this.#host = host;
    }
    const url = this.#origin + target;
    return PLAIN_TARGET.test(target) && !target.includes('/.') ? url : new URL(url).href;
  }
}

function originOf(scheme: string, host: string | undefined): string {
  const parsed = URL.parse(`${scheme}://${host ?? ''}`);
  // An invalid Host: the call is answered nevertheless.
  return parsed === null || parsed.username !== '' || parsed.pathname !== '/'
    ? `${scheme}://localhost`
    : `${scheme}://${parsed.host}`;
}
