/** Questions to the service whose answers come later, a few at a time: each is held in memory on both sides. */
interface Answers<T> {
  /** The same request, made again, has the same answer. One that the service refuses never resolves: it ends the build. */
  request(key: string): Promise<T>;
  answer(key: string, value: T): void;
}

/** @param send puts the question. */
export function createAnswers<T>(send: (key: string) => void, concurrency = 4): Answers<T> {
  const waiting = new Map<string, ((value: T) => void)[]>();
  const queue: string[] = [];
  let underWay = 0;

  function next(): void {
    while (underWay < concurrency) {
      const key = queue.shift();
      if (key === undefined) return;
      underWay += 1;
      send(key);
    }
  }

  return {
    request(key) {
      const { promise, resolve } = Promise.withResolvers<T>();
      const others = waiting.get(key);
      if (others === undefined) {
        waiting.set(key, [resolve]);
        queue.push(key);
        next();
      } else {
        others.push(resolve);
      }
      return promise;
    },
    answer(key, value) {
      for (const resolve of waiting.get(key) ?? []) resolve(value);
      waiting.delete(key);
      underWay -= 1;
      next();
    },
  };
}
