import type { RuntimeState } from '@wherry/core/feed/messages.ts';
import { handlerRoute, type HandlerRoute } from './handler-context.ts';
import type { CallLog } from '../logs/call-log.ts';
import type { SecretMask } from '../logs/secret-mask.ts';
import { SecretStore } from '../secrets/secret-store.ts';

/** What may change while the instance runs. The next call sees it. */
export class FunctionState {
  route: HandlerRoute;
  debug: boolean;
  /** Whether HEAD is answered through GET. */
  headThroughGet: boolean;
  readonly secrets: SecretStore;
  readonly #log: CallLog;

  constructor(state: RuntimeState, log: CallLog, mask: SecretMask) {
    this.#log = log;
    this.secrets = new SecretStore((value) => mask.add(value));
    this.route = handlerRoute(state.function);
    this.debug = false;
    this.headThroughGet = false;
    this.apply(state);
  }

  apply(state: RuntimeState): void {
    const { methods } = state.function;
    this.route = handlerRoute(state.function);
    this.debug = state.function.debug;
    this.headThroughGet = methods.includes('GET') && !methods.includes('HEAD');
    this.#log.apply(state.settings);
    this.#log.functionName = state.function.id;
    this.secrets.replace(state.secrets);
  }
}
