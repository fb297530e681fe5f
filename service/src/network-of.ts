/** What distinguishes callers: an address, and of IPv6 its /64, which one caller usually holds as a whole. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, 4);
  return groups.map((group) => parseInt(group, 16).toString(16)).join(':');
}
