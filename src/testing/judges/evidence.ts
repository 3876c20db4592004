import { wrongOption } from '../../json/known-options.ts';
import type { SomeRun } from '../../agent/run/run.ts';
import { deltaReader } from '../../journal/format/deltas.ts';
import type { OutcomeRecord } from '../../journal/format/record.ts';
import { readRecording } from '../../journal/format/recording.ts';
import { ROOT_ID } from '../../journal/format/run-input.ts';
import { RecordingPlayer } from '../../journal/replay/recording-player.ts';
import { transitions } from '../../journal/replay/replay.ts';
import type { RunEvent, Transition } from '../../machines/events/run-events.ts';
import type { AgentState, ErrorEntry, RunReason, AnyResult, RunStatus } from '../../machines/contract/run-result.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import type { Message } from '../../actors/model.ts';
import { parseReply } from '../../parsing/reply/parse-reply.ts';
import { recoverJson } from '../../parsing/recover/recover-json.ts';
import type { ToolResult } from '../../tools/result.ts';

/** A recording: its text, its lines, or its parsed records. */
export type RecordingSource = string | readonly (string | object)[];

/** What the matchers and assertions look at. A `Run` is waited for; a recording is played back. */
export type Subject = SomeRun | AnyResult | RecordingSource;

/** How a run ended. */
interface Ending {
  readonly status: RunStatus;
  readonly reason: RunReason;
  readonly result: string;
  readonly error: ErrorEntry | null;
  /** The answer as a value; null where there is none. */
  readonly output: unknown;
}

/** What is known of a run, whatever it was read from. */
export interface Evidence {
  /** What it was read from, for messages: `the run`, `the result`, `the recording`. */
  readonly subject: string;
  readonly states: readonly AgentState[];
  /** Null for a result, which keeps the top-level states only. */
  readonly transitions: readonly Transition[] | null;
  readonly calls: readonly CallMade[];
  readonly ending: Ending;
}

/** Reads the evidence out of a finished run, a result or a recording; a promise for a `Run`, which is waited for. */
export function evidenceOf(subject: Subject): Evidence | Promise<Evidence> {
  if (isRun(subject)) return ofRun(subject);
  if (isResult(subject)) return ofResult(subject);
  if (typeof subject === 'string' || Array.isArray(subject)) return ofRecording(subject);
  throw wrongOption(
    'This looks at a Run, a RunResult or a recording (its text, or its lines as a list). Give one of these.',
  );
}

/** True for the handle of a run: a thing to wait for. */
export function isRun(value: unknown): value is SomeRun {
  return typeof value === 'object' && value !== null && 'then' in value && 'transitions' in value;
}

function isResult(value: unknown): value is AnyResult {
  return isJsonObject(value) && Array.isArray(value.states) && typeof value.reason === 'string';
}

async function ofRun(run: SomeRun): Promise<Evidence> {
  const result = await run;
  return { ...ofResult(result), subject: 'the run', transitions: run.transitions(), calls: callsIn(run.recording()) };
}

function ofResult(result: AnyResult): Evidence {
  const ran = new Set(result.toolsUsed);
  return {
    subject: 'the result',
    states: result.states,
    transitions: null,
    calls: callsInMessages(result.messages).filter(({ tool }) => ran.has(tool)),
    ending: endingOf(result),
  };
}

function endingOf(ended: AnyResult): Ending {
  const { status, reason, result, error = null, output = null } = ended;
  return { status, reason, result, error, output };
}

function ofRecording(recording: RecordingSource): Evidence {
  const { lines } = readRecording(recording);
  const output: unknown = lines.findLast((line) => line.t === 'end')?.output;
  if (!isResult(output)) throw wrongOption('The recording has no end: its run was interrupted, and has no result.');
  return {
    subject: 'the recording',
    states: output.states,
    transitions: transitions(recording),
    calls: callsIn(recording),
    ending: endingOf(output),
  };
}

/** The calls that were started, with their outcomes; those of child agents too, and those that child agents work on. */
function callsIn(recording: RecordingSource): readonly CallMade[] {
  const { head, lines } = readRecording(recording);
  const restore = deltaReader(head);
  const given = new Map(lines.flatMap((line) => (line.t === 'outcome' ? [[line.id, resultOf(line)]] : [])));
  const calls = new Map<unknown, CallMade>();
  const onEvent = (event: RunEvent): void => {
    if (event.type === 'tool.started') calls.set(event.callId, { ...event, gave: null });
    if (event.type === 'tool.finished' && calls.has(event.callId))
      calls.set(event.callId, { ...event, gave: event.result });
  };
  const player = new RecordingPlayer({ onEvent });
  for (const line of [head, ...lines]) {
    player.feed(line);
    if (line.t !== 'start' || line.request === undefined) continue;
    const request = restore(line.id, line.request);
    if (line.name !== 'callTool' || !isJsonObject(request)) continue;
    const { callId, tool, args = {} } = request;
    // A call of a tool is known by its attempts, and each of them counts.
    calls.delete(callId);
    if (typeof tool === 'string') calls.set(line.id, { tool, args, gave: given.get(line.id) ?? null });
  }
  return [...calls.values()];
}

function resultOf(outcome: OutcomeRecord): Json {
  return outcome.ok ? outcome.value : { status: 'error', error: outcome.error.message, code: outcome.error.code };
}

/** The transitions between the agent's five states, with the events that caused them where they are known. */
export function topLevelTransitions({
  states,
  transitions: taken,
}: Evidence): readonly { from: string; to: string; event: string }[] {
  if (taken !== null) {
    return taken
      .filter(({ actor }) => actor === ROOT_ID)
      .map(({ from, to, event }) => ({ from: top(from), to: top(to), event }))
      .filter(({ from, to }) => from !== to);
  }
  return states.slice(1).map((to, index) => ({ from: states[index] ?? '', to, event: '' }));
}

function top(state: string): string {
  return state.split('.')[0] ?? state;
}

/** A tool call: which tool, with what. */
export interface CallMade {
  readonly tool: string;
  readonly args: Json;
  /** What the tool gave, as a tool result; null where it is not known, or it never came. */
  readonly gave: Json | ToolResult;
}

/** The calls that a model asked for in a conversation, native, in plans or in an envelope, as far as they can be read. */
function callsInMessages(messages: readonly Message[]): readonly CallMade[] {
  return messages.flatMap(({ role, content, toolCalls = [] }) => {
    if (role !== 'assistant') return [];
    if (toolCalls.length === 0) return typeof content === 'string' ? callsInText(content) : [];
    return toolCalls.flatMap(({ name, arguments: text }) =>
      name === 'make_plan' ? callsInText(text) : [{ tool: name, args: argumentsOf(text), gave: null }],
    );
  });
}

function callsInText(text: string): readonly CallMade[] {
  const { plan, calls } = parseReply(text);
  if (plan !== undefined) return plan.map(({ tool, args }) => ({ tool, args, gave: null }));
  return calls.map(({ name, args }) => ({ tool: name, args, gave: null }));
}

function argumentsOf(text: string): Json {
  const recovered = recoverJson(text);
  return recovered.ok && isJsonObject(recovered.value) ? recovered.value : {};
}

/** A matcher's result: whether it holds, and a message for the case that it should not. */
export interface Judgement {
  readonly pass: boolean;
  readonly message: () => string;
}

/** The way through the agent's states on one line. */
export function pathLine({ states }: Evidence): string {
  return `  ${states.join(' → ')}`;
}

/** How the run ended, with its text and error, as lines of a message. */
export function endingLines({ ending: { status, reason, result, error } }: Evidence): readonly string[] {
  const how = status === reason ? status : `${status} (${reason})`;
  const at = error === null ? '' : ` at step ${error.step}${error.tool === undefined ? '' : `, tool ${error.tool}`}`;
  return [
    `  ended as ${how}: ${JSON.stringify(shortened(result))}`,
    ...(error === null ? [] : [`  error: ${error.code}${at}: ${shortened(error.message)}`]),
  ];
}

const LONGEST = 200;

/** At most 200 characters, so that one long answer does not hide the message. */
export function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
