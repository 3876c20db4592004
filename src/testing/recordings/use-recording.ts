import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkRunOptions } from '../../agent/options/check-options.ts';
import type { RunInput } from '../../agent/options/input-parts.ts';
import type { RunOptions } from '../../agent/options/run-options.ts';
import type { AnyRun, SomeRun } from '../../agent/run/run.ts';
import { historiesIn } from '../../journal/stores/run-files.ts';
import { withHistory } from '../../journal/format/histories.ts';
import { readRecording } from '../../journal/format/recording.ts';
import { runnable } from '../../journal/format/recorded-tools.ts';
import { processEnvironment, type Environment, readVariable } from '../../models/endpoint/environment.ts';
import { oneOf, optionsOf, wrongOption } from '../../json/known-options.ts';
import {
  type RecordedAgent,
  framesAbove,
  UseRecordingError,
  runAndKeep,
  runPartly,
  runReplayed,
} from './runs-on-recordings.ts';
import type { Matching } from './recorded-answers.ts';

/** How a recording is used. */
export interface UseRecordingOptions extends ActorModes {
  /** When to record. Default `missing`; `SIGNALBOX_RECORD` overrides it, and in CI it is always `never`. */
  readonly record?: RecordMode | undefined;
  /**
   * How a request finds its answer if some actors are live: `request` (default), by matching the recorded one; `order`,
   * by its position, whatever it contains.
   */
  readonly match?: Matching | undefined;
}

const LEAVES: { readonly [actor in keyof ActorModes]-?: readonly string[] } = {
  model: ['callLlm'],
  tools: ['callTool'],
  checks: ['checkArgs', 'checkOutput'],
  approvals: ['askApproval', 'rememberPermission'],
  recovery: ['runFixer', 'askEscalation'],
  prompt: ['composePrompt'],
};

const checkOptions = optionsOf<UseRecordingOptions>('useRecording', 'docs/testing.md', {
  record: true,
  match: true,
  ...LEAVES,
});

/** A recording in use: between a test and the runs of its agent. */
export interface UsedRecording {
  readonly path: string;
  /** Runs the agent on the recording: replayed when there is one, recorded when not. Like `agent.run`, a Run at once. */
  run<TRun extends SomeRun>(agent: RecordedAgent<TRun>, input: RunInput, options?: RunOptions): TRun;
  /** The agent, with a `run` that uses the recording: for code under test that runs the agent itself. */
  wrap<TAgent extends RecordedAgent>(agent: TAgent): TAgent;
}

/**
 * Keeps a run of a test in a file: recorded when the file is missing, replayed when it is there, never live in CI. A
 * request that is not in the recording rejects with a `RecordingMissError` that shows the nearest recorded request and
 * the difference. A second run goes into a second file, `weather.2.jsonl`. Paths are relative to the working directory.
 *
 * @example
 * const run = useRecording('test/recordings/weather.jsonl').run(agent, 'What is the weather in Austin?');
 * await expect(run).toEndWith('answer', /°C/);
 */
export function useRecording(path: string | URL, options: UseRecordingOptions = {}): UsedRecording {
  if (typeof process === 'undefined') throw wrongOption('useRecording keeps a file: in a page, `replay` its text.');
  checkOptions(options);
  const file = typeof path === 'string' ? path : relative('.', fileURLToPath(path));
  const live = liveLeaves(options);
  const matching = oneOf("useRecording: option 'match'", options.match ?? 'request', ['request', 'order']);
  let count = 0;
  let last: PromiseLike<unknown> | null = null;
  let isLive = false;
  const kept = (run: AnyRun): AnyRun => {
    last = run;
    isLive = true;
    const over = (): boolean => (isLive &&= last !== run);
    void run.then(over, over);
    return run;
  };

  const start = (agent: RecordedAgent, input: RunInput, given: RunOptions, calledFrom: string): AnyRun => {
    checkRunOptions(given, 'A run of useRecording');
    if (isLive && (given.whenBusy === 'steer' || given.whenBusy === 'interrupt'))
      throw wrongOption(
        `useRecording: with whenBusy '${given.whenBusy}' the input is a message to the live run. Call steer of that run.`,
      );
    count += 1;
    const own = count === 1 ? file : file.replace(/(\.[^./\\]*)?$/, `.${count}$1`);
    const { mode, because } = recordMode(options.record, processEnvironment());
    const isThere = existsSync(own);
    if (mode === 'all' || (mode === 'missing' && !isThere)) return kept(runAndKeep(own, agent, { input, given }));
    if (!isThere) throw new UseRecordingError('recording-missing', own, missingText(own, because));
    const recording = runnable(readRecording(withHistory(readFileSync(own, 'utf8'), historiesIn(dirname(own)))));
    const place = { path: own, calledFrom, after: given.whenBusy === 'queue' ? last : null };
    if (live.size === 0) return kept(runReplayed(place, agent, { input, given, recording }));
    return kept(runPartly(place, agent, { input, given, recording, live, matching }));
  };
  function run<TRun extends SomeRun>(agent: RecordedAgent<TRun>, input: RunInput, given?: RunOptions): TRun;
  function run(agent: RecordedAgent, input: RunInput, given: RunOptions = {}): AnyRun {
    return start(agent, input, given, framesAbove(run));
  }
  const wrap = <TAgent extends RecordedAgent>(agent: TAgent): TAgent => {
    const ownRun = (input: RunInput, given: RunOptions = {}): AnyRun => start(agent, input, given, framesAbove(ownRun));
    const members = { run: ownRun, conversation: refuseConversation };
    const own: TAgent = Object.create(agent, Object.getOwnPropertyDescriptors(members));
    // The agent's members work on itself alone, not on an object that inherits from it.
    const get = (_: TAgent, key: PropertyKey): unknown => {
      if (Object.hasOwn(own, key)) return Reflect.get(own, key, agent);
      const member: unknown = Reflect.get(agent, key);
      return typeof member === 'function' ? member.bind(agent) : member;
    };
    const getOwnPropertyDescriptor = (_: TAgent, key: PropertyKey): PropertyDescriptor | undefined => {
      // Who asks may be a spy, which calls what it finds on an object that inherits: a method that was read is bound.
      Reflect.get(agent, key);
      return Reflect.getOwnPropertyDescriptor(own, key);
    };
    return new Proxy(own, { get, getOwnPropertyDescriptor });
  };
  return { path: file, run, wrap };
}

/** It keeps its history in its journal, where a replay leaves nothing: it would be live, in CI too. */
function refuseConversation(): never {
  throw wrongOption(
    'useRecording: runs of a conversation are not recorded. Give its agent a scriptedModel, or wrap and run the agent.',
  );
}

function missingText(path: string, because: string): string {
  return `The recording ${path} is missing, and this run may not make one: ${because}. Run the test once where the model is available, without that setting, and commit the file.`;
}

/** What an actor does in a test: return the recorded answer, or do its work. */
export type ActorMode = 'replay' | 'live';

/** What each actor does if there is a recording. Default `replay` for all. */
export interface ActorModes {
  /** Requests to the model (the leaf `callLlm`). */
  readonly model?: ActorMode | undefined;
  /** Tool calls, local and MCP alike (`callTool`). */
  readonly tools?: ActorMode | undefined;
  /** Checks by code of arguments and of answers: Standard Schemas, `validateArgs`, `checkOutput` (`checkArgs`, `checkOutput`). */
  readonly checks?: ActorMode | undefined;
  /** Questions to a person, and remembering the answer (`askApproval`, `rememberPermission`). */
  readonly approvals?: ActorMode | undefined;
  /** Functions and agents of `onError`, and `onEscalation` (`runFixer`, `askEscalation`). */
  readonly recovery?: ActorMode | undefined;
  /** Instructions and system prompts that are made by code (`composePrompt`). */
  readonly prompt?: ActorMode | undefined;
}

/** The leaves that are live; all others are answered from the recording. Throws a `TypeError` for a word that is not a mode. */
function liveLeaves(modes: ActorModes): ReadonlySet<string> {
  const live = new Set<string>();
  for (const [actor, leaves] of Object.entries(LEAVES)) {
    const mode = oneOf(`useRecording: option '${actor}'`, Reflect.get(modes, actor) ?? 'replay', ['replay', 'live']);
    if (mode === 'live') for (const leaf of leaves) live.add(leaf);
  }
  return live;
}

/** When `useRecording` records: if there is no recording yet, always, or never. */
export type RecordMode = 'missing' | 'all' | 'never';

const MODES: readonly RecordMode[] = ['missing', 'all', 'never'];

/**
 * Whether to record, and what decided it. `never` wins, wherever it comes from, and CI (the variable `CI`) means never; else `SIGNALBOX_RECORD` overrides the
 * option. Throws a `TypeError` for a word that is not a mode.
 */
function recordMode(
  option: RecordMode | undefined,
  env: Environment,
): { readonly mode: RecordMode; readonly because: string } {
  const variable = readVariable(env, 'SIGNALBOX_RECORD');
  const fromEnv = variable === undefined ? undefined : oneOf('SIGNALBOX_RECORD', variable, MODES);
  const fromOption = option === undefined ? undefined : oneOf("useRecording: option 'record'", option, MODES);
  if (!['false', '0'].includes(readVariable(env, 'CI') ?? 'false'))
    return { mode: 'never', because: 'this is CI (the variable CI is set)' };
  if (fromEnv === 'never') return { mode: 'never', because: 'SIGNALBOX_RECORD is never' };
  if (fromOption === 'never') return { mode: 'never', because: "the option record is 'never'" };
  return { mode: fromEnv ?? fromOption ?? 'missing', because: '' };
}
