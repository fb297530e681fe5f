/** Where a browser goes that has no better target. */
export const HOME = '/web/';

const MAX_LENGTH = 2048;
/** A path, query and fragment of the characters of RFC 3986: neither `\` nor a control character. */
const TARGET =
  /^(\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)(\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?(#[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?$/;
/** In a decoded path: an authority, another escape, or what a browser takes as a slash or drops. */
const DECEPTIVE = /\/\/|[\\%\u0000-\u001f\u007f]/;

/**
 * Where sign-in leads (M7): the target where it is a path of this origin, else the home page. A path that some program
 * on the way could take as another host, by decoding it once more or by removing dots, is none.
 */
export function localTarget(target: string | undefined): string {
  const path = target !== undefined && target.length <= MAX_LENGTH ? TARGET.exec(target)?.[1] : undefined;
  return target === undefined || path === undefined || isDeceptive(path) ? HOME : target;
}

function isDeceptive(path: string): boolean {
  try {
    const decoded = decodeURIComponent(path);
    const { pathname } = new URL(decoded, 'https://origin.invalid');
    // Another sign-in would follow this one, without an end.
    return DECEPTIVE.test(decoded) || /^\/api\/auth\/oidc(\/|$)/i.test(pathname);
  } catch {
    return true;
  }
}
