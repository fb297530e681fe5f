/** The requests of a service that may be killed at any time. @throws Refused, or TypeError where the connection breaks */
export type Call = (method: string, target: string, body?: object) => Promise<unknown>;

interface SecretView {
  id: string;
  name: string;
  value?: string;
  decryptionError?: string;
}

/** Whether a rotation runs, and how far it is. */
export interface RotationStatus {
  isInProgress: boolean;
  processed: number;
  total: number;
  failed: number;
}

/** What was acknowledged last, and what was sent last: after a kill, one of the two is there. */
interface Written {
  id: string;
  acknowledged: number;
  sent: number;
}

const ROTATION = '/api/encryption-keys/rotation';
/** So many reads and acknowledged writes come before a rotation begins. */
const AT_WORK = 5;
/** The group of the secrets that are written again and again. */
export const WRITTEN_GROUP = 'management';

/** An answer that is no success. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'Refused';
    this.status = status;
  }
}

export const pause = (ms = 20): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Writes and reads of secrets while their keys rotate, and what must be there afterwards (FT1). */
export class RotationTraffic {
  acknowledged = 0;
  reads = 0;
  /** By the secrets' names. */
  readonly #written = new Map<string, Written>();

  /** A secret of WRITTEN_GROUP, with its first value, is written from now on. */
  follow(name: string, id: string): void {
    this.#written.set(name, { id, acknowledged: 0, sent: 0 });
  }

  /** One of two writers: the next number of every other secret, so that nobody else writes it. */
  async write(call: Call, which: 0 | 1): Promise<never> {
    const own = [...this.#written].filter((_, index) => index % 2 === which);
    for (;;) {
      for (const [name, written] of own) {
        written.sent += 1;
        const number = written.sent;
        await call('PUT', `/api/secrets/${written.id}`, { value: valueOf(name, number) });
        written.acknowledged = number;
        this.acknowledged += 1;
      }
      await pause();
    }
  }

  async read(call: Call): Promise<never> {
    for (;;) {
      const before = new Map([...this.#written].map(([name, { acknowledged }]) => [name, acknowledged]));
      const target = `/api/secrets?includeValues=true&groupId=${WRITTEN_GROUP}`;
      const { secrets } = (await call('GET', target)) as { secrets: SecretView[] };
      const wrong = this.#wrong(secrets, before);
      if (secrets.length !== this.#written.size || wrong.length > 0)
        throw new Error(`${secrets.length} values: ${wrong.join()}`);
      this.reads += 1;
      await pause();
    }
  }

  /** Begins a rotation whenever none runs. */
  async rotate(call: Call): Promise<never> {
    for (;;) {
      if (!(await rotationStatus(call)).isInProgress) {
        await this.#untilAllWork(call);
        await beginRotation(call);
      }
      await pause();
    }
  }

  /** Reads and writes are under way when the rotation begins, however fast it is. */
  async #untilAllWork(call: Call): Promise<void> {
    const [reads, acknowledged] = [this.reads + AT_WORK, this.acknowledged + AT_WORK];
    while (this.reads < reads || this.acknowledged < acknowledged) {
      // It fails where the service is gone.
      await rotationStatus(call);
      await pause();
    }
  }

  /** What is wrong with any of so many secrets. */
  async look(call: Call, records: number): Promise<string[]> {
    const { secrets } = (await call('GET', '/api/secrets?includeValues=true')) as { secrets: SecretView[] };
    const missing = records - secrets.length;
    return [...(missing === 0 ? [] : [`${missing} secrets are missing`]), ...this.#wrong(secrets)];
  }

  /**
   * A value is the last that was acknowledged before it was read, or a later one; what was sent last may have been
   * written or not.
   */
  #wrong(secrets: SecretView[], before = new Map<string, number>()): string[] {
    return secrets.flatMap(({ name, value, decryptionError }) => {
      const written = this.#written.get(name);
      const from = before.get(name) ?? written?.acknowledged ?? 0;
      const to = written?.sent ?? 0;
      const possible = Array.from({ length: to - from + 1 }, (_, index) => valueOf(name, from + index));
      return value !== undefined && possible.includes(value) ? [] : [`${name}: ${decryptionError ?? 'another value'}`];
    });
  }
}

export function valueOf(name: string, number: number): string {
  return `value ${number} of ${name}`;
}

export async function rotationStatus(call: Call): Promise<RotationStatus> {
  return (await call('GET', ROTATION)) as RotationStatus;
}

/** Two that begin at once are one too many. */
export async function beginRotation(call: Call): Promise<void> {
  try {
    await call('POST', ROTATION);
  } catch (error) {
    if (!(error instanceof Refused && error.status === 409)) throw error;
  }
}

/** Waits for the end of the rotation that runs. */
export async function rotationEnd(call: Call, limitMs: number): Promise<RotationStatus> {
  const began = machineTime();
  for (;;) {
    const status = await rotationStatus(call);
    if (!status.isInProgress) return status;
    if (machineTime() - began > limitMs) throw new Error(`the rotation does not end: ${JSON.stringify(status)}`);
    await pause();
  }
}

/** Each version of the key with its state. */
export async function keyStates(call: Call): Promise<Map<number, string>> {
  const { keys } = (await call('GET', '/api/encryption-keys')) as { keys: { version: number; state: string }[] };
  return new Map(keys.map(({ version, state }) => [version, state]));
}

/** Requests to this management port, with this key. */
export function caller(url: string, key: string): Call {
  return async (method, target, body) => {
    const answer = await fetch(`${url}${target}`, {
      method,
      headers: {
        'x-api-key': key,
        prefer: 'respond-async',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Refused(answer.status, `${method} ${target}: ${answer.status} ${text}`);
    return JSON.parse(text) as unknown;
  };
}
