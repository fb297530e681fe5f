import { accessSync, constants, mkdirSync, renameSync, rmSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { mustRun, runProgram } from '../command.ts';
import { cacheFolder, digestOf } from '../folders.ts';
import { progress, say } from '../progress.ts';
import { withLock } from '../with-lock.ts';
import {
  kubernetesVersion,
  moduleFiles,
  moduleFolder,
  programsOf,
  type GoProgram,
  type ProgramSet,
} from './program-table.ts';

/**
 * The folder with the programs of a set: KUBEBUILDER_ASSETS where it has them all, else one in the cache, named by the
 * digest of what goes in. What is missing there is built: about 17 minutes on two cores the first time.
 * @throws Error that says what is missing
 */
export async function findOrBuildPrograms(set: ProgramSet): Promise<string> {
  const given = process.env['KUBEBUILDER_ASSETS'];
  if (given !== undefined && given !== '' && missingIn(given, set).length === 0) return given;
  const folder = programsFolder();
  if (missingIn(folder, set).length > 0) {
    await requireGo('or name a folder that has the Kubernetes programs in KUBEBUILDER_ASSETS');
    await withLock(`programs-${path.basename(folder)}`, 'it builds the Kubernetes programs', () =>
      buildAll(folder, set),
    );
  }
  // Code that looks for the newest folder finds the one that was requested last.
  utimesSync(folder, new Date(), new Date());
  return folder;
}

/**
 * A program that does not belong to a set, from a folder of its own in the cache; built there in seconds the first
 * time.
 * @returns its absolute path
 * @throws Error that says what is missing
 */
export async function findOrBuildProgram(program: GoProgram): Promise<string> {
  const texts = [process.arch, ...buildFlags(program.module)];
  const folder = cacheFolder(program.name, digestOf({ texts, files: moduleFiles(program.module) }));
  const file = path.join(folder, program.name);
  if (!isExecutable(file)) {
    await requireGo();
    mkdirSync(folder, { recursive: true });
    await build(program, folder);
  }
  return file;
}

/** Where the programs of this tree lie in the cache, built or not. */
export function programsFolder(): string {
  const modules = [...new Set(programsOf('cluster').map(({ module }) => module))];
  const texts = [process.arch, ...buildFlags('kubernetes')];
  return cacheFolder('kubernetes', digestOf({ texts, files: modules.flatMap(moduleFiles) }));
}

function missingIn(folder: string, set: ProgramSet): GoProgram[] {
  return programsOf(set).filter(({ name }) => !isExecutable(path.join(folder, name)));
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function buildAll(folder: string, set: ProgramSet): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const missing = missingIn(folder, set);
  if (missing.length > 0) say(`Building ${missing.length} Kubernetes programs, once for this machine, into ${folder}`);
  for (const [index, program] of missing.entries()) {
    await progress(`  [${index + 1}/${missing.length}] ${program.name}`, () => build(program, folder));
  }
}

/** A program exists only once it is complete: it is renamed last. */
async function build({ name, module, package: goPackage }: GoProgram, folder: string): Promise<void> {
  const unfinished = path.join(folder, `.${name}.${process.pid}`);
  try {
    await mustRun('go', ['build', '-C', moduleFolder(module), ...buildFlags(module), '-o', unfinished, goPackage], {
      // Static programs: they run in images that hold nothing else.
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' },
    });
    renameSync(unfinished, path.join(folder, name));
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** Without a version the programs call themselves v0.0.0, which helm and kubectl refuse. */
function buildFlags(module: string): string[] {
  const version = kubernetesVersion();
  const [major, minor] = version.slice(1).split('.');
  const names = {
    'k8s.io/component-base/version.gitVersion': version,
    'k8s.io/component-base/version.gitMajor': major,
    'k8s.io/component-base/version.gitMinor': minor,
    'k8s.io/component-base/version.gitTreeState': 'clean',
    'k8s.io/client-go/pkg/version.gitVersion': version,
  };
  const versions = module === 'kubernetes' ? Object.entries(names).map(([name, value]) => `-X ${name}=${value}`) : [];
  return ['-trimpath', '-buildvcs=false', '-ldflags', ['-s', '-w', ...versions].join(' ')];
}

/** @param otherwise what else would work */
async function requireGo(otherwise?: string): Promise<void> {
  const found = await runProgram('go', ['version']).catch(() => undefined);
  if (found?.code === 0) return;
  const choices = ['install Go 1.26 or later (https://go.dev/dl)', ...(otherwise === undefined ? [] : [otherwise])];
  throw new Error(`Programs of the tests are built with Go, and there is no \`go\` in PATH: ${choices.join(', ')}.`);
}
