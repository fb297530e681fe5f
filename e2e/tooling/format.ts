/** `npm run format`: formats all code, as `npm run lint` wants it. */
import { runCommand } from './run-command.ts';

process.exitCode = await runCommand('prettier', ['--write', '--log-level', 'warn', '.']);
