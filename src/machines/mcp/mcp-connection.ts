/**
 * Owns: the life of the connection to one MCP server: when to connect, list, probe, wait, sign in, stop trying and try
 * again. Does not own: the links themselves, the calls sent over them, and tokens: those stay with the leaves.
 *
 * I1 READY means: connected, and the tools were listed over this very link.
 * I2 Each attempt is a new generation; what an older one reports is dropped.
 * I3 Failures in a row are counted until a call was answered or the link has held for a while, so that a server which
 *    starts and dies again and again runs into the limit, too.
 * I4 Tokens that the server refuses in a row, and scopes that it asks for in a row, are counted until a call was
 *    answered: neither a refresh nor a login is repeated forever.
 * I5 A link whose session is still valid (`greeting`) survives a refresh, and a login for more scopes.
 */
import { withOutput } from '../contract/assign.ts';
import {
  AFTER_FAILURE,
  AFTER_LOSS,
  AFTER_MISSING_SCOPE,
  authorizing,
  needsLogin,
  refreshing,
} from './mcp-authorizing.ts';
import { linkOf, mcpConnectionParts, startOf } from './mcp-connection-parts.ts';
export type { McpConnectionContext, McpConnectionLimits } from './mcp-connection-parts.ts';
import { MOST_MICROSTEPS } from '../contract/agent-setup.ts';

/**
 * Keeps one MCP server connected, and reports when it cannot. It outlives runs, takes its clock from `createActor`, and
 * never ends: after FAILED, NEEDS_LOGIN, AUTH_REQUIRED and STOPPED it can be asked again.
 */
export const mcpConnectionMachine = mcpConnectionParts.createMachine({
  id: 'mcpConnection',
  options: { maxIterations: MOST_MICROSTEPS },
  context: ({ input }) => startOf(input),
  initial: 'IDLE',
  on: {
    'connection.stopped': '.STOPPED',
    'login.wanted': { guard: 'canSignIn', target: '.AUTHORIZING' },
    'tools.changed': { guard: 'isCurrent', actions: 'noteListChange' },
  },
  states: {
    IDLE: { on: { 'connection.wanted': 'CONNECTING', 'call.wanted': 'CONNECTING' } },
    CONNECTING: {
      entry: 'beginGeneration',
      invoke: {
        id: 'connectMcp',
        src: 'connectMcp',
        input: ({ context }) => linkOf(context),
        onDone: { target: 'DISCOVERING', actions: withOutput('keepGreeting') },
        onError: AFTER_FAILURE,
      },
      on: { 'link.lost': AFTER_LOSS },
    },
    DISCOVERING: {
      entry: 'markListCurrent',
      invoke: {
        id: 'listMcpTools',
        src: 'listMcpTools',
        input: ({ context }) => linkOf(context),
        onDone: { target: 'READY', actions: withOutput('keepTools') },
        onError: AFTER_FAILURE,
      },
      on: { 'link.lost': AFTER_LOSS },
    },
    READY: {
      initial: 'LISTED',
      after: { stable: { actions: 'forgetFailures' } },
      on: {
        'link.lost': AFTER_LOSS,
        'link.doubted': { guard: 'isCurrent', target: 'SUSPECT' },
        'link.proved': { guard: 'isCurrent', actions: 'forgetFailures' },
        'scope.missing': AFTER_MISSING_SCOPE,
      },
      states: {
        LISTED: {
          always: { guard: 'isOutdated', target: 'SETTLING' },
          on: { 'tools.wanted': 'REFRESHING' },
        },
        SETTLING: {
          after: { debounce: 'REFRESHING' },
          on: { 'tools.wanted': 'REFRESHING' },
        },
        REFRESHING: {
          entry: 'markListCurrent',
          invoke: {
            id: 'listMcpTools',
            src: 'listMcpTools',
            input: ({ context }) => linkOf(context),
            onDone: { target: 'LISTED', actions: withOutput('keepTools') },
            onError: { target: '#mcpConnection.SUSPECT', actions: 'keepError' },
          },
        },
      },
    },
    SUSPECT: {
      invoke: {
        id: 'pingMcp',
        src: 'pingMcp',
        input: ({ context }) => linkOf(context),
        onDone: 'READY',
        onError: AFTER_FAILURE,
      },
      on: { 'link.lost': AFTER_LOSS },
    },
    BACKING_OFF: {
      entry: 'dropSession',
      after: { backoff: 'CONNECTING' },
      on: { 'connection.wanted': 'CONNECTING' },
    },
    FAILED: {
      entry: 'dropSession',
      initial: 'RESTING',
      on: { 'connection.wanted': { target: 'CONNECTING', actions: 'forgetFailures' } },
      states: {
        RESTING: { after: { cooldown: 'RESTED' }, on: { 'call.wanted': 'DEMANDED' } },
        DEMANDED: { after: { cooldown: { target: '#mcpConnection.CONNECTING', actions: 'allowOneAttempt' } } },
        RESTED: { on: { 'call.wanted': { target: '#mcpConnection.CONNECTING', actions: 'allowOneAttempt' } } },
      },
    },
    REFRESHING: refreshing,
    AUTHORIZING: authorizing,
    NEEDS_LOGIN: needsLogin,
    AUTH_REQUIRED: { on: { 'connection.wanted': { target: 'CONNECTING', actions: 'forgetFailures' } } },
    STOPPED: { entry: 'dropSession', on: { 'connection.wanted': { target: 'CONNECTING', actions: 'forgetFailures' } } },
  },
});
