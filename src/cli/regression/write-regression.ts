import { isDeepStrictEqual } from 'node:util';
import { MARKS_ONLY } from '../../actors/redactor.ts';
import { type Recording, lineNumber } from '../../journal/format/recording.ts';
import { normalizeRecording } from '../../journal/format/normalize.ts';
import { replay } from '../../journal/replay/replay.ts';
import { isList } from '../../json/depth.ts';
import { isJsonObject, type Json } from '../../json/json.ts';
import { describeThrown } from '../../json/to-json.ts';
import { escaped } from '../../output/console/escaped.ts';
import { scriptedModel, simulate, type SimulateOptions, type SimulatedAgent } from '../../testing/index.ts';
import { type Arguments, EXIT_CODE, UsageError, outFolder } from '../command/command.ts';
import { openRecording } from '../recording/kept-runs.ts';
import { type SimulatedModule, loadSimulated, ownAgent } from '../simulate/simulate-agent.ts';
import { type TestText, comment, quoted, readRunner, writeTest } from './test-files.ts';
import { digest } from '../../json/digest.ts';
import type { RecordLine, StartRecord } from '../../journal/format/record.ts';
import type { ChildSetup } from '../../machines/contract/agent-setup.ts';
import { isErrorResult } from '../../tools/result.ts';

/** Writes a test that fails for what went wrong in a run, or for a seed of a simulation. Exit code 0 when it does. */
export async function writeRegression(args: Arguments, simulated: SimulateOptions): Promise<number> {
  const { values, positionals } = args;
  const [named = ''] = positionals;
  const module = values.get('agent') ?? '';
  const folder = outFolder(args, 'test');
  const loaded = await loadSimulated(module, values.get('export'));
  const runner = readRunner(values.get('runner'));
  const found = /^\d+$/.test(named)
    ? await ofSeed(Number(named), loaded, { simulated, runner })
    : await ofRun(await openRecording(named, values.get('in')), loaded, runner);
  if (typeof found === 'string') {
    console.error(found);
    return EXIT_CODE.failed;
  }
  const { test, name, says, fails } = found;
  const place = { folder, name, module, exported: loaded.exported, runner };
  const files = await writeTest(test, place);
  console.log([`Written: ${files.map(escaped).join(' and ')}`, `  ${escaped(says)}`].join('\n'));
  if (fails) console.log('It fails now, and passes once the cause is repaired.');
  else console.error('It does not fail: what went wrong then does not go wrong now.');
  return fails ? EXIT_CODE.answered : EXIT_CODE.failed;
}

interface Written {
  readonly test: TestText;
  readonly name: string;
  /** What went wrong, in a sentence. */
  readonly says: string;
  /** Whether the test fails now. */
  readonly fails: boolean;
}

/** What a test of a seed compares: the failures themselves hold whole recordings. */
const REASONS = 'failures.map(({ reason }) => reason)';

async function ofSeed(
  seed: number,
  { agent, options: own }: SimulatedModule,
  { simulated, runner }: { readonly simulated: SimulateOptions; readonly runner: 'vitest' | 'node' },
): Promise<Written | string> {
  if (!Number.isSafeInteger(seed) || seed === 0)
    throw new UsageError(`there is no seed ${seed}: they are whole numbers from 1 on.`);
  const options = { ...own, ...simulated, seeds: [seed] };
  const [failure] = (await simulate(agent, options)).failures;
  if (failure === undefined) return `Seed ${seed} does not fail.`;
  const { check, reason, drawn, only, recording } = failure;
  const { ok } = await simulate(agent, { ...options, only });
  const name = `seed-${seed}`;
  const hasOwn = Object.keys(own).length > 0;
  const { task, faults, model } = simulated;
  const body = [
    ...drawn.map(comment),
    'const { failures } = await simulate(agent, {',
    ...(hasOwn ? ['  ...simulation,'] : []),
    ...(task === undefined ? [] : [`  task: ${quoted(task)},`]),
    ...(faults === undefined ? [] : [`  faults: ${JSON.stringify(faults)},`]),
    ...(model === undefined ? [] : ['  model: recording,']),
    `  seeds: [${seed}],`,
    `  only: [${only.map(quoted).join(', ')}],`,
    '});',
    runner === 'node' ? `assert.deepEqual(${REASONS}, []);` : `expect(${REASONS}).toEqual([]);`,
  ];
  const said = typeof model === 'string' ? model : recording;
  const kept = said === '' ? null : { name: `${name}.jsonl`, text: said };
  const test: TestText = {
    title: `${check}: ${escaped(reason.split('\n')[0] ?? '')}`,
    uses: ['simulate', ...(hasOwn ? ['simulation'] : [])],
    recording: model === undefined ? null : kept,
    body,
  };
  refuseSecrets(test, ownAgent(agent));
  return { test, name, says: `${check}: ${reason}`, fails: !ok };
}

async function ofRun(recording: Recording, { agent, options }: SimulatedModule, runner: 'vitest' | 'node') {
  const cause = causeIn(recording);
  const { runId, agent: agentName } = recording.head;
  if (cause === null)
    return `Nothing in run ${escaped(runId)} of '${escaped(agentName)}' can be done again: no tool failed or was called in a loop. Replay it, and say in a test how it should have ended.`;
  const { kind, tool, callId, outcome, mark } = cause;
  if (mark !== null)
    return `'${escaped(tool)}' was called with ${mark}, and a recording does not hold what that stands for: a test could never make this call.`;
  if (callId.includes('.') && serverTools(recording.head.children).includes(tool))
    return `'${escaped(tool)}' failed first, and is a tool of an MCP server of an agent below: a test does not connect these.`;
  const name = `${tool}-${runId}`.replaceAll(/[^\w.-]+/g, '-');
  const own = ownAgent(agent);
  const isOfServer = !callId.includes('.') && !own.tools.has(tool);
  const made = typeof agent === 'function' ? 'agent({ silent: true })' : 'agent';
  const isHere = `event.callId === ${quoted(callId)}`;
  const [judged, wanted] =
    kind === 'failed'
      ? [
          [
            `  if (event.type === 'recovery.step' && ${isHere}) found.push(event.error);`,
            `  if (event.type === 'tool.finished' && ${isHere} && !event.ok) found.push(event.result);`,
          ],
          runner === 'node' ? 'assert.deepEqual(found, []);' : 'expect(found).toEqual([]);',
        ]
      : [
          [`  if (event.type === 'tool.finished' && ${isHere}) found.push(event.result);`],
          `${runner === 'node' ? 'assert.notDeepEqual(found, ' : 'expect(found).not.toEqual('}[${JSON.stringify(outcome)}]);`,
        ];
  const test: TestText = {
    title: kind === 'failed' ? `'${tool}' does not fail` : `'${tool}' gives something else`,
    uses: ['replay', 'scriptedModel', ...('context' in options ? ['simulation'] : [])],
    recording: { name: `${name}.jsonl`, text: normalizeRecording(cause.past) },
    body: [
      comment(`Run ${runId}, up to this call. From there on the tools run, and the model says nothing more.`),
      ...(isOfServer ? [`const owner = ${made};`, 'await owner.ready();'] : []),
      `const run = replay(recording, ${isOfServer ? 'owner' : made}, {`,
      "  allow: ['prompt', 'tools'],",
      "  then: scriptedModel(['Done.']),",
      ...('context' in options ? ['  context: simulation.context,'] : []),
      '});',
      'const found = [];',
      'for await (const event of run) {',
      '  if (event.replayed) continue;',
      ...judged,
      '}',
      ...(isOfServer ? ['await owner.close();'] : []),
      wanted,
    ],
  };
  refuseSecrets(test, own);
  if (isOfServer) await own.ready();
  const fails = await failsNow(cause, own, options).finally(() => own.close());
  return { test, name, says: saysOf(cause), fails };
}

/** The names of the tools that agents below have of MCP servers. */
function serverTools(children: readonly ChildSetup[] = []): readonly string[] {
  return children.flatMap(({ setup: { toolset, children: below } }) => [
    ...toolset.tools.flatMap(({ name, origin }) => (origin.kind === 'mcp' ? [name] : [])),
    ...serverTools(below),
  ]);
}

function saysOf({ kind, tool, outcome, line }: RecordedCause): string {
  if (kind === 'useless') return `'${tool}' was called again and again with the same result (record ${line}).`;
  const { message, error, reason, issues } = isJsonObject(outcome) ? outcome : {};
  const [issue] = isList(issues) ? issues : [];
  const said = [message, error, reason, isJsonObject(issue) ? issue['message'] : null];
  const why = said.find((text) => typeof text === 'string') ?? 'it failed';
  return `'${tool}' failed (record ${line}): ${why}`;
}

/** Does what the test does. */
async function failsNow(
  { kind, callId, outcome, past }: RecordedCause,
  agent: SimulatedAgent,
  { context }: SimulateOptions,
): Promise<boolean> {
  try {
    const model = scriptedModel(['Done.']);
    // oxlint-disable-next-line unicorn/no-thenable -- so the option is called; nobody awaits the object
    const run = replay(past, agent, { allow: ['prompt', 'tools'], then: model, context });
    let fails = false;
    for await (const event of run) {
      if (event.replayed) continue;
      if (event.type === 'recovery.step' && event.callId === callId) fails ||= kind === 'failed';
      if (event.type === 'tool.finished' && event.callId === callId)
        fails ||= kind === 'failed' ? !event.ok : isDeepStrictEqual(event.result, outcome);
    }
    return fails;
  } catch (error) {
    throw new UsageError(`the run cannot be played on this agent. ${describeThrown(error).message}`);
  }
}

/** What the recording knew to be secret is already a mark; what the current agent declares secret is searched for again. */
function refuseSecrets({ title, recording, body }: TestText, { options }: SimulatedAgent): void {
  const { secrets = [] } = options;
  const text = [title, recording?.text, ...body].join('\n');
  const index = secrets.findIndex((secret) => text.includes(JSON.stringify(secret).slice(1, -1)));
  if (index !== -1)
    throw new UsageError(`the test would hold secret number ${index + 1} of the agent, so it is not written.`);
}

/** The first failure in a recorded run that a test can reproduce. */
interface RecordedCause {
  /** `failed`: the call came to nothing; `useless`: what it gave made the model call again and again. */
  readonly kind: 'failed' | 'useless';
  readonly tool: string;
  readonly callId: string;
  /** What the tool gave, or why it gave nothing. */
  readonly outcome: Json;
  /** The mark of a secret in its arguments; null without one. */
  readonly mark: string | null;
  /** All that had happened before the call began. */
  readonly past: readonly object[];
  /** The number of the record with which the call began. */
  readonly line: number;
}

/** Finds the first call of a tool that failed, or that a run repeated until it was stopped; null where there is neither. */
function causeIn(recording: Recording): RecordedCause | null {
  const { lines } = recording;
  const starts = new Map(lines.flatMap((line, index) => (line.t === 'start' ? [[line.id, { line, index }]] : [])));
  const callOf = (line: RecordLine) => {
    const begun = line.t === 'outcome' ? starts.get(line.id) : undefined;
    return begun?.line.name === 'callTool' || begun?.line.name === 'checkArgs' ? begun : undefined;
  };
  for (const line of lines) {
    const begun = callOf(line);
    if (begun === undefined || line.t !== 'outcome' || !hasFailed(line)) continue;
    return causeAt(recording, begun, { kind: 'failed', outcome: line.ok ? line.value : { ...line.error } });
  }
  const end = lines.find(({ t }) => t === 'end');
  if (end?.t !== 'end' || !isJsonObject(end.output) || end.output['reason'] !== 'loop') return null;
  const calls = lines.flatMap((line) => {
    const begun = callOf(line);
    return line.t === 'outcome' && line.ok && begun?.line.name === 'callTool' ? [{ begun, outcome: line.value }] : [];
  });
  const last = calls.at(-1);
  const first = calls.find(({ begun }) => last !== undefined && isSameCall(begun.line, last.begun.line));
  return first === undefined ? null : causeAt(recording, first.begun, { kind: 'useless', outcome: first.outcome });
}

function isSameCall({ request: one }: StartRecord, { request: other }: StartRecord): boolean {
  if (!isJsonObject(one) || !isJsonObject(other) || one['tool'] !== other['tool']) return false;
  return digest(one['args'] ?? null) === digest(other['args'] ?? null);
}

function hasFailed(line: Extract<RecordLine, { t: 'outcome' }>): boolean {
  if (!line.ok) return true;
  return isErrorResult(line.value) || (isJsonObject(line.value) && line.value['ok'] === false);
}

function causeAt(
  recording: Recording,
  { line, index }: { readonly line: StartRecord; readonly index: number },
  { kind, outcome }: Pick<RecordedCause, 'kind' | 'outcome'>,
): RecordedCause | null {
  const { tool, callId } = isJsonObject(line.request) ? line.request : {};
  if (typeof tool !== 'string' || typeof callId !== 'string') return null;
  const before = recording.lines.findLastIndex((one, at) => at < index && ENTRIES.has(one.t));
  return {
    kind,
    tool,
    callId,
    outcome,
    mark: MARKS_ONLY.lostMark(line.request),
    past: [recording.head, ...recording.lines.slice(0, before + 1)],
    line: lineNumber(recording, index),
  };
}

/** The records of the events that a machine received; the effects that they caused were started after them. */
const ENTRIES: ReadonlySet<string> = new Set(['outcome', 'timer', 'event']);
