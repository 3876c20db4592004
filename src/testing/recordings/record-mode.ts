import { type Environment, readVariable } from '../../models/endpoint/environment.ts';

/** When `useRecording` records: where there is no recording yet, always anew, or not at all. */
export type RecordMode = 'missing' | 'all' | 'never';

/** Whether to record, and what decided it, for messages. */
export interface RecordDecision {
  readonly mode: RecordMode;
  readonly because: string;
}

const MODES: readonly RecordMode[] = ['missing', 'all', 'never'];

/**
 * `never` wins, wherever it comes from, and CI (the variable `CI`) means never; else `SIGNALBOX_RECORD` goes before the
 * option. Throws a `TypeError` for a word that is no mode.
 */
export function recordMode(option: RecordMode | undefined, env: Environment): RecordDecision {
  const variable = readVariable(env, 'SIGNALBOX_RECORD');
  const fromEnv = variable === undefined ? undefined : checked(variable, 'SIGNALBOX_RECORD');
  const fromOption = option === undefined ? undefined : checked(option, "useRecording: option 'record'");
  if (isCi(env)) return { mode: 'never', because: 'this is CI (the variable CI is set)' };
  if (fromEnv === 'never') return { mode: 'never', because: 'SIGNALBOX_RECORD is never' };
  if (fromOption === 'never') return { mode: 'never', because: "the option record is 'never'" };
  return { mode: fromEnv ?? fromOption ?? 'missing', because: '' };
}

function checked(given: string, where: string): RecordMode {
  const mode = MODES.find((known) => known === given);
  if (mode === undefined) throw new TypeError(`${where} is '${given}', and must be one of: ${MODES.join(', ')}.`);
  return mode;
}

function isCi(env: Environment): boolean {
  const ci = readVariable(env, 'CI');
  return ci !== undefined && ci !== 'false' && ci !== '0';
}
