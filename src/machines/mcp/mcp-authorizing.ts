import { withOutput } from '../contract/assign.ts';
import { type McpConnectionContext, mcpConnectionParts } from './mcp-connection-parts.ts';
import type { McpAuthStep } from '../../actors/mcp/mcp-auth.ts';

/** Nothing is left to be done, or a further attempt is. */
export const GIVE_UP_OR_WAIT = [
  { guard: 'cannotRecover', target: '#mcpConnection.FAILED', actions: 'countFailure' },
  { guard: 'wasLastAttempt', target: '#mcpConnection.FAILED', actions: 'countFailure' },
  { target: '#mcpConnection.BACKING_OFF', actions: 'countFailure' },
] as const;

/** After a failed attempt, listing or ping. */
export const AFTER_FAILURE = [
  { guard: 'mayRequestScopes', target: '#mcpConnection.REFRESHING', actions: ['countStepUp', 'keepError'] },
  { guard: 'mayRefresh', target: '#mcpConnection.REFRESHING', actions: ['countRefusal', 'keepError'] },
  { guard: 'needsLogin', target: '#mcpConnection.NEEDS_LOGIN', actions: ['dropSession', 'keepError'] },
  { guard: 'needsAuth', target: '#mcpConnection.AUTH_REQUIRED', actions: 'keepError' },
  ...GIVE_UP_OR_WAIT,
] as const;

/** An event of an older link is taken and changes nothing. */
export const AFTER_LOSS = [{ guard: 'isStale' }, ...AFTER_FAILURE] as const;

/** A call lacks a scope: the connection stays as it is where asking for it leads nowhere. */
export const AFTER_MISSING_SCOPE = [
  { guard: 'isStale' },
  { guard: 'mayRequestScopes', target: '#mcpConnection.REFRESHING', actions: ['countStepUp', 'keepError'] },
] as const;

/** With a token a session that stands is used on; else there is a new one. */
const WITH_TOKEN = [
  { guard: 'hasSession', target: '#mcpConnection.DISCOVERING', actions: 'forgetRefusals' },
  { target: '#mcpConnection.CONNECTING', actions: 'forgetRefusals' },
] as const;

/** The login failed, and an established session continues with the token that it has. */
const AFTER_FAILED_LOGIN = [
  { guard: 'hasSession', target: '#mcpConnection.DISCOVERING', actions: 'keepError' },
  { target: '#mcpConnection.NEEDS_LOGIN', actions: 'keepError' },
] as const;

/** No one signed in. */
const WITHOUT_LOGIN = [
  { guard: 'hasSession', target: '#mcpConnection.DISCOVERING', actions: 'noteNoLogin' },
  { target: '#mcpConnection.NEEDS_LOGIN', actions: 'noteNoLogin' },
] as const;

/** The authorization server cannot be used, or not at the moment. */
const WITHOUT_SERVER = [
  { guard: 'hasSession', target: '#mcpConnection.DISCOVERING', actions: 'keepError' },
  ...GIVE_UP_OR_WAIT,
] as const;

/** The part of the mcpConnection machine that gets a token without a person. */
export const refreshing = mcpConnectionParts.createStateConfig({
  invoke: {
    id: 'refreshToken',
    src: 'refreshToken',
    input: ({ context }) => stepOf(context),
    onDone: [{ guard: 'hasSession', target: '#mcpConnection.DISCOVERING' }, { target: '#mcpConnection.CONNECTING' }],
    onError: [
      { guard: 'mayAskForScopes', target: '#mcpConnection.AUTHORIZING' },
      { guard: 'onlyScopesMissing', target: '#mcpConnection.DISCOVERING' },
      { guard: 'mayOfferLogin', target: '#mcpConnection.AUTHORIZING', actions: ['dropSession', 'keepError'] },
      { guard: 'needsLogin', target: '#mcpConnection.NEEDS_LOGIN', actions: ['dropSession', 'keepError'] },
      { guard: 'needsAuth', target: '#mcpConnection.AUTH_REQUIRED', actions: 'keepError' },
      ...GIVE_UP_OR_WAIT,
    ],
  },
});

/** The part of the mcpConnection machine in which a person signs in. No code, token or secret passes through it. */
export const authorizing = mcpConnectionParts.createStateConfig({
  initial: 'DISCOVERING',
  exit: 'forgetLogin',
  on: {
    'login.wanted': {},
    'login.cancelled': WITHOUT_LOGIN,
    'link.lost': { guard: 'isCurrent', actions: 'dropSession' },
  },
  states: {
    DISCOVERING: {
      invoke: {
        id: 'discoverAuth',
        src: 'discoverAuth',
        input: ({ context }) => stepOf(context),
        onDone: 'REGISTERING',
        onError: WITHOUT_SERVER,
      },
    },
    REGISTERING: {
      invoke: {
        id: 'registerClient',
        src: 'registerClient',
        input: ({ context }) => stepOf(context),
        onDone: { target: 'AWAITING_USER', actions: withOutput('keepLogin') },
        onError: WITHOUT_SERVER,
      },
    },
    AWAITING_USER: {
      invoke: {
        id: 'awaitLogin',
        src: 'awaitLogin',
        input: ({ context }) => stepOf(context),
        onDone: 'EXCHANGING',
        onError: AFTER_FAILED_LOGIN,
      },
      after: { login: WITHOUT_LOGIN },
    },
    EXCHANGING: {
      invoke: {
        id: 'exchangeCode',
        src: 'exchangeCode',
        input: ({ context }) => stepOf(context),
        onDone: WITH_TOKEN,
        onError: AFTER_FAILED_LOGIN,
      },
    },
  },
});

/** No one is asked any more; a login that is made elsewhere is noticed. */
export const needsLogin = mcpConnectionParts.createStateConfig({
  invoke: {
    id: 'watchLogin',
    src: 'watchLogin',
    input: ({ context }) => stepOf(context),
    onDone: { target: '#mcpConnection.CONNECTING', actions: 'forgetRefusals' },
  },
  on: { 'connection.wanted': { target: '#mcpConnection.CONNECTING', actions: 'forgetFailures' } },
});

function stepOf(context: McpConnectionContext): McpAuthStep {
  const { server, generation, scopes, error } = context;
  return { server, generation, scopes, forScopes: error?.code === 'insufficient-scope' };
}
