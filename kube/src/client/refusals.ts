import { isDomainError } from '@wherry/core/errors.ts';
import type { KubeClient, KubeRequest, KubeWatch, RawEvent } from './kube-client.ts';
import { isCollection } from './status-error.ts';

/** What the API server refuses to show: who may not list or watch objects does not know what is there. */
export class Refusals {
  /** By verb and path: what the server last said, until it shows them. */
  readonly #messages = new Map<string, string>();

  /** The client, with its lists and watches looked at. */
  follow(client: KubeClient): KubeClient {
    return {
      request: (request) => this.#request(client, request),
      watch: (watch) => this.#watch(client, watch),
      close: () => client.close(),
    };
  }

  /** One of them, in a sentence that names verb and resource; undefined where nothing is refused. */
  current(): string | undefined {
    const [message] = this.#messages.values();
    return message;
  }

  async #request<T>(client: KubeClient, request: KubeRequest): Promise<T> {
    if (request.method !== 'GET' || !isCollection(request.path)) return client.request<T>(request);
    const key = `list ${request.path}`;
    try {
      const answer = await client.request<T>(request);
      this.#messages.delete(key);
      return answer;
    } catch (error) {
      this.#note(key, error);
      throw error;
    }
  }

  async *#watch(client: KubeClient, watch: KubeWatch): AsyncGenerator<RawEvent, void> {
    const key = `watch ${watch.path}`;
    try {
      for await (const event of client.watch(watch)) {
        this.#messages.delete(key);
        yield event;
      }
      this.#messages.delete(key);
    } catch (error) {
      this.#note(key, error);
      throw error;
    }
  }

  /** Any other failure says nothing about rights. */
  #note(key: string, error: unknown): void {
    if (isDomainError(error, 'forbidden')) this.#messages.set(key, error.message);
  }
}
