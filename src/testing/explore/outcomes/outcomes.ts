import type { Verdict } from '../../../recovery/verdicts.ts';
import { modelOutcomes } from './model-outcomes.ts';
import {
  type OutcomesOf,
  type Representative,
  fails,
  type KnownTool,
  type LeafScene,
  wrongArguments,
} from './outcome.ts';
import { type Json, type JsonObject, isJsonObject } from '../../../json/json.ts';
import type { StepData } from '../../../recovery/plan-data.ts';
import { textAt } from '../walk/story.ts';

/** What can come of each leaf, by its name. A leaf that is missing here is explored as failing only, and named. */
export const OUTCOMES: ReadonlyMap<string, OutcomesOf> = new Map<string, OutcomesOf>([
  ['callLlm', modelOutcomes],
  ['callTool', callToolOutcomes],
  ['checkArgs', checkArgsOutcomes],
  ['checkOutput', checkOutputOutcomes],
  ['askApproval', askApprovalOutcomes],
  ['rememberPermission', rememberOutcomes],
  ['runFixer', runFixerOutcomes],
  ['askEscalation', askEscalationOutcomes],
  ['composePrompt', composePromptOutcomes],
  ['connectMcp', connectOutcomes],
  ['listMcpTools', () => [{ label: 'lists tools', value: [] }, ...MCP_FAILURES]],
  ['pingMcp', () => [{ label: 'is alive', value: 'alive' }, { label: 'is busy', value: 'busy' }, ...MCP_FAILURES]],
  ['refreshToken', () => [{ label: 'gets a token', value: { how: 'fetched' } }, ...AUTH_FAILURES]],
  ['discoverAuth', () => [{ label: 'finds it', value: { issuer: 'https://auth.example' } }, ...AUTH_FAILURES]],
  ['registerClient', () => [{ label: 'registers', value: LOGIN }, ...AUTH_FAILURES]],
  ['awaitLogin', () => [{ label: 'a person signs in', value: { by: 'code' } }, ...AUTH_FAILURES]],
  ['exchangeCode', () => [{ label: 'gets a token', value: { scopes: [] } }, ...AUTH_FAILURES]],
  ['watchLogin', () => [{ label: 'somebody signs in elsewhere', value: { by: 'elsewhere' } }]],
]);

/** What is explored of a leaf that has no description. */
export const unknownOutcomes: OutcomesOf = ({ effect }) => [fails('fails', 'error', `${effect.name} failed`)];

const MCP_FAILURES: readonly Representative[] = [
  fails('fails', 'not-connected', 'The server is gone.'),
  fails('fails for good', 'spawn-failed', 'There is no such program.'),
  fails('asks for credentials', 'auth-required', 'The server wants a token.'),
];

const AUTH_FAILURES: readonly Representative[] = [
  fails('fails', 'not-connected', 'The authorization server is gone.'),
  fails('needs a person', 'login-required', 'Somebody has to sign in.'),
  fails('fails for good', 'auth-failed', 'The authorization server is not safe to use.'),
  fails('refuses the credentials', 'auth-required', 'The credentials were refused.'),
];

const LOGIN = { url: 'https://auth.example/authorize', scopes: [], answer: 'loopback' } as const;

function connectOutcomes(): readonly Representative[] {
  const greeting = { title: 'Server', version: '1', protocolVersion: '1', capabilities: {}, transport: 'stdio' };
  return [{ label: 'connects', value: greeting }, ...MCP_FAILURES];
}

function askEscalationOutcomes(): readonly Representative[] {
  const verdicts: readonly (Verdict | null)[] = [
    null,
    { kind: 'retryWithModel', model: 'another' },
    { kind: 'reroute', to: 'skill', name: 'another' },
    { kind: 'reroute', to: 'agent', name: 'another' },
    { kind: 'partialResult', text: 'some of it' },
    { kind: 'askHuman', question: 'What now?' },
    { kind: 'escalate', reason: 'worse than it looks', severity: 'critical' },
    { kind: 'throwException', reason: 'no further' },
  ];
  return [
    ...verdicts.map((verdict) => ({ label: verdict === null ? 'does not decide' : verdict.kind, value: { verdict } })),
    fails('throws', 'error', 'the handler failed'),
  ];
}

function composePromptOutcomes(): readonly Representative[] {
  return [
    { label: 'gives a prompt', value: { native: 'You are an agent.', json: 'You are an agent.' } },
    fails('throws', 'prompt-failed', 'the instructions could not be made'),
  ];
}

/** What can come of running a tool. */
function callToolOutcomes(scene: LeafScene): readonly Representative[] {
  const tool = textAt(scene.effect.request, 'tool');
  return [
    { label: 'succeeds', value: { status: 'success', data: { done: true } } },
    { label: 'reports an error', value: { status: 'error', error: `${tool} says that it failed` } },
    fails('throws', 'execution', `${tool} is out of order`, { name: 'Error' }),
    fails('times out', 'timeout', `${tool} did not finish`, { name: 'TimeoutError' }),
    fails('has an unknown outcome', 'unknown-outcome', `nobody knows what became of ${tool}`, { name: 'McpError' }),
  ];
}

/** What a tool's own check can say. */
function checkArgsOutcomes(scene: LeafScene): readonly Representative[] {
  const issues = [{ path: '', message: 'not acceptable' }];
  const { args = {}, tool } = requestOf(scene);
  const needless = scene.tools.some(({ name, needsApproval }) => name === tool && needsApproval === true);
  return [
    { label: 'accepts', value: { ok: true, args } },
    ...(needless ? [{ label: 'accepts, and needs no approval', value: { ok: true, args, approved: true } }] : []),
    { label: 'rejects', value: { ok: false, issues, own: true } },
    { label: 'rejects by its schema', value: { ok: false, issues, own: false } },
    fails('throws', 'error', 'the check is out of order'),
  ];
}

/** What the author's own check can say of an answer. */
function checkOutputOutcomes(scene: LeafScene): readonly Representative[] {
  return [
    { label: 'accepts the answer', value: { ok: true, value: requestOf(scene).value ?? null } },
    { label: 'rejects the answer', value: { ok: false, issues: [{ path: '', message: 'not acceptable' }] } },
    fails('throws', 'timeout', 'the check took too long'),
  ];
}

/** What the person asked can answer. */
function askApprovalOutcomes(): readonly Representative[] {
  return [
    { label: 'allows it once', value: { decision: 'allow-once' } },
    { label: 'allows it always', value: { decision: 'always-allow' } },
    { label: 'denies', value: { decision: 'deny' } },
    { label: 'is nobody', value: { decision: 'nobody' } },
    fails('throws', 'error', 'the question could not be asked'),
  ];
}

/** What can come of keeping a permission. */
function rememberOutcomes(): readonly Representative[] {
  return [{ label: 'is kept', value: null }, fails('fails', 'error', 'the file cannot be written')];
}

/** What the functions and agents of `onError` can say, by what they are asked. */
function runFixerOutcomes(scene: LeafScene): readonly Representative[] {
  const { ask } = requestOf(scene);
  const broken = fails('throws', 'error', 'the recovery is out of order');
  switch (ask) {
    case 'steps':
      return [
        { label: 'handles nothing', value: { kind: 'steps', steps: null } },
        { label: 'chooses to retry', value: { kind: 'steps', steps: [RETRY] } },
        ...OTHER_STEPS.map((step) => ({
          label: `chooses to ${step.kind}`,
          value: { kind: 'steps', steps: [{ ...step }] },
        })),
        broken,
      ];
    case 'substitute':
      return [
        { label: 'gives a result', value: { kind: 'result', result: { status: 'success', data: 'a substitute' } } },
        { label: 'has no result', value: { kind: 'result', result: null } },
        broken,
      ];
    case 'fix-agent':
      return [
        ...repairs(scene),
        { label: 'escalates', value: { kind: 'escalate', reason: 'not mine to repair', severity: 'high' } },
        { label: 'escalates as critical', value: { kind: 'escalate', reason: 'stop here', severity: 'critical' } },
        { label: 'gives up', value: { kind: 'throw', reason: 'hopeless' } },
        broken,
      ];
    default:
      return [...repairs(scene), broken];
  }
}

const RETRY: JsonObject = { kind: 'retry', maxAttempts: 2, backoff: null, whenUnknown: false };
const OTHER_STEPS: readonly StepData[] = [
  { kind: 'fix' },
  { kind: 'fix-agent', agent: 'mender', retries: 1 },
  { kind: 'sanitize' },
  { kind: 'substitute' },
  { kind: 'feedback' },
  { kind: 'escalate', reason: null, severity: 'high' },
  { kind: 'throw', reason: null },
];

/** Arguments that fit, arguments that do not, and none. */
function repairs(scene: LeafScene): readonly Representative[] {
  const tool = scene.tools.find(({ name }) => name === requestOf(scene).tool);
  const valid = tool === undefined ? undefined : scene.argumentsFor(tool);
  const wrong = tool === undefined ? undefined : wrongOf(tool, valid);
  return [
    ...(valid === undefined ? [] : [{ label: 'gives arguments', value: { kind: 'arguments', value: valid } }]),
    ...(wrong === undefined ? [] : [{ label: 'gives wrong arguments', value: { kind: 'arguments', value: wrong } }]),
    { label: 'gives nothing', value: { kind: 'arguments', value: null } },
  ];
}

function wrongOf(tool: KnownTool, valid: Json | undefined): JsonObject | undefined {
  return valid === undefined ? undefined : wrongArguments(tool.inputSchema, valid);
}

function requestOf({ effect: { request } }: LeafScene): JsonObject {
  return isJsonObject(request) ? request : {};
}
