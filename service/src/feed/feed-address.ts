/** Where the feed is. @throws RangeError for what is not `host:port`. */
export function parseFeedAddress(address: string): { host: string; port: number } {
  const parts = /^(?:\[([\da-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/i.exec(address);
  const port = Number(parts?.[3]);
  const host = parts?.[1] ?? parts?.[2];
  if (host === undefined || port < 1 || port > 65_535) throw new RangeError('must be host:port');
  return { host, port };
}

export function isFeedAddress(text: string): boolean {
  try {
    parseFeedAddress(text);
    return true;
  } catch {
    return false;
  }
}
