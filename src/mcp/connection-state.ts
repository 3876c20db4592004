import type { McpLoginStep, McpState } from './connection-types.ts';

/** States in which a link may stand. */
export const LIVE: ReadonlySet<McpState> = new Set(['CONNECTING', 'DISCOVERING', 'READY', 'SUSPECT', 'REFRESHING']);
/** States after which a try to connect has failed. */
export const GIVEN_UP: ReadonlySet<McpState> = new Set([
  'BACKING_OFF',
  'FAILED',
  'NEEDS_LOGIN',
  'AUTH_REQUIRED',
  'STOPPED',
]);

/** The state of a connection's machine, without those inside it. */
export function topLevel(value: unknown): McpState {
  const key = typeof value === 'string' ? value : Object.keys(Object(value))[0];
  return STATES.find((known) => known === key) ?? 'IDLE';
}

const STATES: readonly McpState[] = [
  ...(['IDLE', 'CONNECTING', 'DISCOVERING', 'READY', 'SUSPECT'] as const),
  ...(['BACKING_OFF', 'REFRESHING', 'AUTHORIZING', 'FAILED', 'NEEDS_LOGIN', 'AUTH_REQUIRED', 'STOPPED'] as const),
];

const STEPS: readonly McpLoginStep[] = ['DISCOVERING', 'REGISTERING', 'AWAITING_USER', 'EXCHANGING'];

/** How far the sign-in is; null while there is none. */
export function loginStep(value: unknown): McpLoginStep | null {
  const inner: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'AUTHORIZING') : undefined;
  return STEPS.find((known) => known === inner) ?? null;
}
