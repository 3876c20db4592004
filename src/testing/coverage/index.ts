/**
 * A vitest reporter that reports which states and arrows of the machines no test has taken:
 * `reporters: ['default', 'signalbox/testing/coverage']`.
 */
import '../../platform.ts';
import { OWN_MACHINES } from '../../inspector/diagram/own-machines.ts';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isJsonObject } from '../../json/json.ts';
import { optionsOf } from '../../json/known-options.ts';
import { type MachineCoverage, machineCoverage, edgeText, COVERAGE_FOLDER } from './edges.ts';

/** Options of the reporter: `reporters: [['signalbox/testing/coverage', { json: 'coverage/machines.json' }]]`. */
export interface CoverageOptions {
  /** Also writes the coverage to this file, as JSON. */
  readonly json?: string | undefined;
  /** Default: prints on the console. */
  readonly print?: ((text: string) => void) | undefined;
}

const checkOptions = optionsOf<CoverageOptions>('signalbox/testing/coverage', 'docs/testing.md', {
  json: true,
  print: true,
});

const MACHINES = [...OWN_MACHINES.values()];

/** The reporter. Made by vitest; workers are watched through a setup file that it adds. */
export default class CoverageReporter {
  readonly #options: CoverageOptions;
  /** What tests have taken, those of earlier runs too: while vitest watches, it runs few of them again. */
  readonly #taken = { edges: new Set<string>(), states: new Set<string>() };
  #folder = '';

  constructor(options: CoverageOptions = {}) {
    checkOptions(options);
    this.#options = options;
  }

  /** Begins to watch, before the first worker starts. */
  onInit(vitest: { readonly projects: readonly { readonly config: { readonly setupFiles: string[] } }[] }): void {
    this.#folder = mkdtempSync(join(tmpdir(), 'signalbox-coverage-'));
    process.env[COVERAGE_FOLDER] = this.#folder;
    const own = import.meta.url;
    const setup = fileURLToPath(new URL(own.endsWith('.ts') ? './collect.ts' : './collect.js', own));
    for (const { config } of vitest.projects) if (!config.setupFiles.includes(setup)) config.setupFiles.push(setup);
  }

  /** Reports what no test has taken. */
  onTestRunEnd(): void {
    this.#read();
    const machines = MACHINES.map((machine) => machineCoverage(machine, this.#taken));
    rmSync(this.#folder, { recursive: true, force: true });
    const { json, print = console.log } = this.#options;
    print(`\n${coverageText(machines)}\n`);
    if (json === undefined) return;
    mkdirSync(dirname(json), { recursive: true });
    writeFileSync(json, `${JSON.stringify({ machines }, null, 2)}\n`);
  }

  /** Takes in what the workers have written. A run in which no test has run has no folder. */
  #read(): void {
    for (const name of existsSync(this.#folder) ? readdirSync(this.#folder) : []) {
      const taken: unknown = JSON.parse(readFileSync(join(this.#folder, name), 'utf8'));
      if (!isJsonObject(taken) || !Array.isArray(taken.edges) || !Array.isArray(taken.states)) continue;
      for (const key of taken.edges) this.#taken.edges.add(key);
      for (const state of taken.states) this.#taken.states.add(state);
    }
  }
}

/** The coverage as people read it: a table, then what no test has taken. */
function coverageText(machines: readonly MachineCoverage[]): string {
  const width = Math.max(...machines.map(({ machine }) => machine.length), 'Machine'.length) + 2;
  const rows = machines.map(
    ({ machine, states, edges }) => `  ${machine.padEnd(width)}${shareText(states)}   ${shareText(edges)}`,
  );
  const missed = machines.flatMap(missedLines);
  return [
    `  ${'Machine'.padEnd(width)}${'states'.padEnd(SHARE_WIDTH)}   arrows`,
    ...rows,
    ...(missed.length === 0 ? [] : ['', 'No test has taken:', ...missed]),
  ].join('\n');
}

const SHARE_WIDTH = 16;

function shareText({ covered, total }: { readonly covered: number; readonly total: number }): string {
  const percent = total === 0 ? 100 : Math.floor((100 * covered) / total);
  return `${covered} of ${total}, ${percent} %`.padEnd(SHARE_WIDTH);
}

function missedLines({ machine, states, edges }: MachineCoverage): readonly string[] {
  const lines = [
    ...states.missed.map((state) => `    ${state}`),
    ...edges.missed.map((edge) => `    ${edgeText(edge)}`),
  ];
  return lines.length === 0 ? [] : [`  ${machine}`, ...lines];
}
