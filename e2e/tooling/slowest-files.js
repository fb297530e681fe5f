/** A reporter of jest: what makes a run long, by wall time and by CPU time, at its end. */
import { slowestFiles } from './failures.ts';

const HOW_MANY = 20;

export default class SlowestFiles {
  #globalConfig;

  constructor(globalConfig) {
    this.#globalConfig = globalConfig;
  }

  onRunComplete(...[, { testResults }]) {
    const lines = slowestFiles(testResults, HOW_MANY, this.#globalConfig.rootDir);
    if (lines.length > 0) process.stderr.write(`\n${lines.join('\n')}\n`);
  }
}
