/**
 * How much each of several owners may keep so that together they keep no more than `total`: an owner with less keeps
 * all that it has, and the others keep this much each (max-min fairness). Infinity where no owner has to give up
 * anything.
 */
export function fairShare(sizes: Iterable<number>, total: number): number {
  const ascending = [...sizes].sort((a, b) => a - b);
  let left = total;
  for (const [index, size] of ascending.entries()) {
    const share = left / (ascending.length - index);
    if (size > share) return share;
    left -= size;
  }
  return Infinity;
}
