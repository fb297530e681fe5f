interface RuntimeProcess {
  /** The instance's memory in MiB; V8's heap gets what the rest of the process leaves. */
  memoryMiB: number;
  /** The one folder that the handler may read and write: its `/tmp`. */
  temporaryDirectory?: string;
}

/** What a Node process needs beside V8's heap, in MiB. */
const OUTSIDE_HEAP_MIB = 32;

/**
 * Node's options for an instance's process. The permission model allows nothing but the entry file and `/tmp`; it does
 * not stop `node:sqlite` from opening any file, so that module is disabled. This is hygiene: the boundary is the uid or
 * the pod.
 */
export function runtimeNodeFlags(instance: RuntimeProcess): string[] {
  const folder = instance.temporaryDirectory?.replace(/\/*$/, '/');
  return [
    '--permission',
    ...(folder === undefined ? [] : [`--allow-fs-read=${folder}`, `--allow-fs-write=${folder}`]),
    '--no-experimental-sqlite',
    // A signal must not open a debugger's port.
    '--disable-sigusr1',
    '--disable-warning=SecurityWarning',
    `--max-old-space-size=${Math.max(32, instance.memoryMiB - OUTSIDE_HEAP_MIB)}`,
  ];
}
