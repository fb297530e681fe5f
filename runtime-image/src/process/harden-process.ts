import process from 'node:process';

/** Whether this process is on the machine of the service, under Node's permission model: the embedded mode. */
export const sharesMachine = (): boolean => process.permission !== undefined;

/**
 * Removes what would let the handler reach other processes or open files past the permission model. This is hygiene:
 * the boundary is the uid or the pod (S1).
 */
export function hardenProcess(): void {
  const kill = process.kill.bind(process);
  const refuse = (what: string) => (): never => {
    throw Object.assign(new Error(`${what} cannot be used in a function.`), { code: 'ERR_ACCESS_DENIED' });
  };
  const ownKill = (pid: number, signal?: string | number): true => {
    if (pid !== process.pid) return refuse('process.kill of another process')();
    return kill(pid, signal);
  };
  replace('kill', ownKill);
  for (const name of ['_kill', '_debugProcess', '_debugEnd', 'binding', '_linkedBinding', 'dlopen']) {
    replace(name, refuse(`process.${name}`));
  }
  if (!sharesMachine()) return;
  const builtin = process.getBuiltinModule.bind(process);
  replace('getBuiltinModule', (id: string) => (/^(?:node:)?sqlite$/.test(id) ? undefined : builtin(id)));
}

function replace(name: string, value: unknown): void {
  Object.defineProperty(process, name, { value, writable: false, configurable: false, enumerable: true });
}
