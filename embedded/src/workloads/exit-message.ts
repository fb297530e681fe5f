/** How a process ended. */
export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The last of what it wrote to stderr. */
  output: string;
  /** Why it could not be started. */
  error?: Error;
}

const LINES = 12;
/** After the reason, V8 and Node print details that help only their own developers. */
const NOISE = /^(?:----- Native stack trace -----|Node\.js v\d)[\s\S]*/m;
/** Control characters must not reach a person's terminal. */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** One sentence for a person, then the last lines of the output. */
export function exitMessage(exit: ProcessExit): string {
  const lines = exit.output.replace(NOISE, '').replace(CONTROL, '').trimEnd().split('\n').slice(-LINES);
  return [sentence(exit), ...lines].join('\n').trimEnd();
}

function sentence({ code, signal, error }: ProcessExit): string {
  if (error !== undefined) return `The instance could not be started: ${error.message}.`;
  if (signal === null) return `The instance exited with code ${code ?? 0}.`;
  return signal === 'SIGABRT'
    ? 'The instance aborted (SIGABRT), as it does when its heap is full.'
    : `The instance was killed by ${signal}.`;
}
