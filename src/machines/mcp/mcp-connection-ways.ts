// Where the mcpConnection machine goes after what ended a state; shared by its drawings.

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
