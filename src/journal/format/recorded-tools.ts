/**
 * Owns: what a recording says of tools and limits, checked before anything runs on it. Anyone who can write the file
 * must not be able to bypass a gate with a value that no version of ours ever wrote.
 */
import { RecordingError } from './journal-error.ts';
import { toJson } from '../../json/to-json.ts';
import type { ChildSetup, Toolset, ToolsChanged } from '../../machines/contract/agent-setup.ts';
import { TOOLSET } from '../../machines/events/outside-events.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { issuesOf } from '../../parsing/schema/fit.ts';
import type { OutcomeRecord, RecordLine, RunRecord } from './record.ts';
import { type Recording, lineNumber } from './recording.ts';

/** The tools that a run knows, and those of the agents below it. */
export interface KnownTools {
  readonly toolset: Toolset;
  readonly children: readonly ChildSetup[];
}

/**
 * Returns a recording that something will run on. Throws a {@link RecordingError} that names the place where its head,
 * or a change of its tools, has a value that we never write, such as an unknown policy.
 */
export function runnable(recording: Recording): Recording {
  refuse(recording.head, HEAD, 1);
  for (const [index, line] of recording.lines.entries())
    if (line.t === 'event' && line.event.type === 'tools.changed')
      refuse(line.event, CHANGE, lineNumber(recording, index));
    else if (isPreparedRepair(line)) refuse(line.value, PREPARED, lineNumber(recording, index));
  return recording;
}

/** The repair agents that the run of a recording has begun to ask, each with its last known setup. */
export function repairSetups({ lines }: Pick<Recording, 'lines'>): readonly ChildSetup[] {
  const told = new Map<string, ChildSetup>();
  for (const line of lines) if (isPreparedRepair(line)) told.set(line.value.agent.tool, line.value.agent);
  return [...told.values()];
}

/** True for the outcome of the leaf that gives a repair agent to run; no tool can give one, its effects have other names. */
function isPreparedRepair(
  line: RecordLine,
): line is OutcomeRecord & { readonly ok: true; readonly value: JsonObject & { readonly agent: ChildSetup } } {
  if (line.t !== 'outcome' || !line.ok || !/\/repairAgent#\d+$/.test(line.id)) return false;
  return isJsonObject(line.value) && line.value.kind === 'agent';
}

/** The tools that the run of a recording knew of at its last record. */
export function lastKnown({ head, lines }: Pick<Recording, 'head' | 'lines'>): KnownTools {
  const told = changesIn(lines);
  return {
    toolset: told.at(-1)?.toolset ?? head.toolset,
    children: told.findLast(({ children }) => children !== undefined)?.children ?? head.children ?? [],
  };
}

/** The head of a run with the prompt that it has now: other code may have given it another than its own. */
export function promptedHead({ head, lines }: Recording): RunRecord {
  const prompt = changesIn(lines).findLast((change) => change.prompt !== undefined)?.prompt;
  if (prompt === undefined) return head;
  if ('native' in prompt) return { ...head, promptByCode: false };
  return { ...head, instructions: prompt.instructions, promptByCode: prompt.byCode };
}

function changesIn(lines: readonly RecordLine[]): readonly ToolsChanged[] {
  return lines.flatMap((line) => (line.t === 'event' && isChange(line.event) ? [line.event] : []));
}

function isChange(event: { readonly type: string }): event is ToolsChanged {
  return event.type === 'tools.changed' && issues(event, CHANGE).length === 0;
}

function refuse(value: object, schema: JsonObject, line: number): void {
  const [issue] = issues(value, schema);
  if (issue === undefined) return;
  const place = issue.path === '' ? '' : ` at ${issue.path}`;
  throw new RecordingError(line, `is nothing that Signalbox writes${place}: ${issue.message}. Nothing was run on it.`);
}

function issues(value: object, schema: JsonObject): ReturnType<typeof issuesOf> {
  const json = toJson(value);
  return json.ok ? issuesOf(json.value, schema) : [{ path: '', message: json.reason }];
}

const TEXT: JsonObject = { type: 'string' };
const SWITCH: JsonObject = { type: 'boolean' };
const COUNT: JsonObject = { type: 'integer', minimum: 0 };
const LIMIT: JsonObject = { type: ['number', 'null'], minimum: 0 };

const record = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

const REQUIRED_OPTIONS = record({
  maxSteps: COUNT,
  maxPlanIterations: COUNT,
  maxConsecutiveRepeats: COUNT,
  maxToolResultChars: COUNT,
  connectMs: { type: 'number', minimum: 0 },
  responseMs: LIMIT,
  approvalMs: LIMIT,
  totalMs: LIMIT,
  maxAttempts: COUNT,
  parallelToolCalls: SWITCH,
  maxArgumentBytes: COUNT,
  maxResultBytes: COUNT,
  budget: record({ maxToolCalls: LIMIT, maxTokens: LIMIT }),
});

/** What recordings of 0.1 do not have. */
const OPTIONS: JsonObject = {
  allOf: [
    REQUIRED_OPTIONS,
    {
      type: 'object',
      properties: {
        toolCalling: { enum: ['auto', 'native', 'json'] },
        plans: SWITCH,
        answers: { enum: ['arguments'] },
        maxSteers: { type: 'number', minimum: 0 },
        images: { enum: ['sent', 'named'] },
        files: { enum: ['sent'] },
        longHistory: { enum: ['left-out'] },
        textCalls: { enum: ['never', 'whole-reply', 'narrated', 'lenient'] },
      },
    },
  ],
};

const OUTPUT: JsonObject = {
  allOf: [
    record({
      schema: { type: ['object', 'boolean'] },
      mode: { enum: ['auto', 'tool', 'native', 'prompt'] },
      checkMs: LIMIT,
      besideTools: SWITCH,
    }),
    { type: 'object', properties: { ofRun: { enum: [true] } } },
  ],
};

const MODELS: JsonObject = {
  type: 'array',
  minItems: 2,
  items: record({ name: TEXT, toolCalling: { enum: ['native', 'json'] }, callsNatively: SWITCH, takesImages: SWITCH }),
};

const CHILDREN: JsonObject = { type: 'array', items: { $ref: '#/$defs/child' } };
const $defs: JsonObject = {
  child: record({
    tool: TEXT,
    setup: {
      allOf: [
        record({ toolset: TOOLSET, settings: OPTIONS, children: CHILDREN }),
        { type: 'object', properties: { output: OUTPUT, models: MODELS } },
      ],
    },
  }),
};

const HEAD: JsonObject = {
  type: 'object',
  properties: {
    runId: { type: 'string', minLength: 1 },
    at: TEXT,
    machine: record({ id: TEXT, version: TEXT, hash: TEXT }),
    agent: TEXT,
    version: TEXT,
    input: TEXT,
    content: { type: 'array', items: { type: 'object' } },
    cancelled: TEXT,
    queued: { type: 'array', items: record({ id: TEXT, text: TEXT }) },
    instructions: TEXT,
    promptByCode: SWITCH,
    toolCalling: { enum: ['native', 'json'] },
    callsNatively: SWITCH,
    toolset: TOOLSET,
    history: { type: 'array', items: { type: 'object' } },
    options: OPTIONS,
    seed: { type: 'number' },
    warnings: { type: 'array', items: TEXT },
    children: CHILDREN,
    escalates: SWITCH,
    output: OUTPUT,
    models: MODELS,
  },
  required: [
    'runId',
    'at',
    'machine',
    'agent',
    'input',
    'instructions',
    'toolCalling',
    'toolset',
    'history',
    'options',
  ],
  $defs,
};

const PREPARED: JsonObject = {
  type: 'object',
  properties: { agent: { $ref: '#/$defs/child' } },
  required: ['agent'],
  $defs,
};

const CHANGE: JsonObject = {
  type: 'object',
  properties: {
    toolset: TOOLSET,
    children: CHILDREN,
    restart: record({ begun: { type: 'array', items: TEXT }, notRepeated: { type: 'array', items: TEXT } }),
    prompt: { anyOf: [record({ instructions: TEXT, byCode: SWITCH }), record({ native: TEXT, json: TEXT })] },
  },
  required: ['toolset'],
  $defs,
};
