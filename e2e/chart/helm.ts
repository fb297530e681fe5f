import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { mustRun, runProgram, type CommandResult } from '../cluster/command.ts';
import { kubernetesVersion } from '../cluster/programs/program-table.ts';
import { programPath } from './programs.ts';

export const chartFolder = path.join(import.meta.dirname, '../../charts/wherry');
export const SYSTEM = 'wherry-system';
/** Values that switch everything on. */
export const everything = path.join(import.meta.dirname, 'values/everything.yaml');

/** An object that the chart renders. */
export interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  // Of any kind: tests know which.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  [field: string]: any;
}

const renderArguments = (args: readonly string[]): string[] => [
  'template',
  'wherry',
  chartFolder,
  '--namespace',
  SYSTEM,
  '--kube-version',
  kubernetesVersion(),
  ...args,
];

/** `helm template` with more arguments, as text. @throws CommandFailed */
export function renderText(...args: string[]): Promise<string> {
  return mustRun(programPath('helm'), renderArguments(args), {});
}

/** The objects of `helm template`. @throws CommandFailed */
export async function render(...args: string[]): Promise<Rendered[]> {
  return parse(await renderText(...args));
}

/** `helm template`, whatever the outcome. */
export function tryRender(...args: string[]): Promise<CommandResult> {
  return runProgram(programPath('helm'), renderArguments(args), {});
}

/** Kubernetes reads YAML 1.1. */
export function parse(text: string): Rendered[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0] ?? new Error('not YAML');
    const object = document.toJS() as Rendered | null;
    return object === null ? [] : [object];
  });
}
