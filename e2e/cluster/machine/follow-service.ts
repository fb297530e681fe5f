import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Machine } from "./machine.ts";

/** A Service that is there answers at once, or refuses at once when it has no pods. */
const PATIENCE_MS = 1500;

/**
 * Connects to a Service at the address that it has. One that was removed and made anew has another: where nothing
 * answers, it is asked for again.
 * @param lookUp the Service's address
 */
export function followService(connect: Machine["connect"], lookUp: () => Promise<string>, port: number): () => Promise<Socket> {
  let host: Promise<string> | undefined;
  const current = (): Promise<string> => {
    host ??= lookUp().catch((error: unknown) => {
      host = undefined;
      throw error;
    });
    return host;
  };
  return async () => {
    const known = current();
    const first = connect({ host: await known, port });
    const outcome = await Promise.race([first, delay(PATIENCE_MS, undefined)]).catch(() => undefined);
    if (outcome !== undefined) return outcome;
    if (host === known) host = undefined;
    const [before, now] = await Promise.all([known, current()]);
    if (now === before) return first;
    first.then((late) => late.destroy(), () => undefined);
    return connect({ host: now, port });
  };
}
