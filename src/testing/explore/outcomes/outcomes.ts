import type { Verdict } from '../../../recovery/verdicts.ts';
import { modelOutcomes } from './model-outcomes.ts';
import { type OutcomesOf, type Representative, fails } from './outcome.ts';
import {
  askApprovalOutcomes,
  callToolOutcomes,
  checkArgsOutcomes,
  rememberOutcomes,
  runFixerOutcomes,
} from './tool-outcomes.ts';

/** What can come of each leaf, by its name. A leaf that is missing here is explored as failing only, and named. */
export const OUTCOMES: ReadonlyMap<string, OutcomesOf> = new Map<string, OutcomesOf>([
  ['callLlm', modelOutcomes],
  ['callTool', callToolOutcomes],
  ['checkArgs', checkArgsOutcomes],
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

/** What is explored of a leaf that nobody described. */
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
    fails('throws', 'error', 'the instructions could not be made'),
  ];
}
