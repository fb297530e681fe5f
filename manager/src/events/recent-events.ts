import { randomBytes } from 'node:crypto';

interface RecentEventsLimits {
  /** Bytes of all events that are kept. */
  bytes: number;
  /** Their number. */
  events: number;
}

/**
 * The newest events, each as the bytes that every listener is sent. A position is the number of events before it; its
 * text is that of an event's id, and says of which run of the program it is: positions of another run mean nothing.
 */
export class RecentEvents {
  readonly #limits: RecentEventsLimits;
  readonly #run = randomBytes(6).toString('hex');
  readonly #frames = new Map<number, Buffer>();
  #bytes = 0;
  #first = 0;
  #next = 0;

  constructor(limits: RecentEventsLimits) {
    this.#limits = limits;
  }

  /** The position after the newest event. */
  get end(): number {
    return this.#next;
  }

  /** The id of what comes at a position: the next after it is at `position`. */
  idAt(position: number): string {
    return `${this.#run}-${position}`;
  }

  /** The position that an id stands for; undefined where the events after it are not all here. */
  positionOf(id: string): number | undefined {
    const [run, digits = ''] = id.split('-');
    const position = /^\d{1,15}$/.test(digits) ? Number(digits) : -1;
    const isHere = run === this.#run && position >= this.#first && position <= this.#next;
    return isHere ? position : undefined;
  }

  /** @param frame makes the bytes of the event with an id. */
  add(frame: (id: string) => Buffer): void {
    const bytes = frame(this.idAt(this.#next + 1));
    this.#frames.set(this.#next, bytes);
    this.#next += 1;
    this.#bytes += bytes.length;
    while (this.#bytes > this.#limits.bytes || this.#next - this.#first > this.#limits.events) this.#drop();
  }

  /** The event at a position; undefined where it is no longer kept, or not there yet. */
  at(position: number): Buffer | undefined {
    return this.#frames.get(position);
  }

  #drop(): void {
    this.#bytes -= this.#frames.get(this.#first)?.length ?? 0;
    this.#frames.delete(this.#first);
    this.#first += 1;
  }
}
