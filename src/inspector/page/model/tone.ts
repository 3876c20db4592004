import type { SessionInfo } from '../../frames/protocol.ts';

/** How a state is coloured, and by which sign it is known without colour. */
export type Tone = 'go' | 'wait' | 'caution' | 'danger' | 'done';

const WORDS: readonly (readonly [Tone, RegExp])[] = [
  ['danger', /ERROR|FAIL|THROWN|CRASH|BROKEN|LOOPING/i],
  [
    'caution',
    /RECOVER|DENIED|ESCALAT|SUSPECT|SUSPICIOUS|REFUSED|FED_BACK|RETRY|FIXING|SANITIZING|AUTH_REQUIRED|NEEDS_LOGIN|LOST/i,
  ],
  ['wait', /WAIT|BACKING_OFF|BACKOFF|PENDING|PAUSE|SLEEP|RESTING|IDLE/i],
  ['done', /SUCCE|COMPLET|DONE|READY|FINISHED|STOPPED/i],
];

/**
 * A guess of what a state means from its name: machines of any author are drawn, and none says so in its definition. Only
 * colour and sign depend on it.
 */
export function toneOf(path: string): Tone {
  const before = known.get(path);
  if (before !== undefined) return before;
  const tone = guessed(path);
  known.set(path, tone);
  return tone;
}

const known = new Map<string, Tone>();

function guessed(path: string): Tone {
  for (const name of path.split('.').toReversed()) for (const [tone, words] of WORDS) if (words.test(name)) return tone;
  return 'go';
}

/** How the state of a session is shown. */
export function statusTone(status: SessionInfo['status']): Tone {
  switch (status) {
    case 'running':
      return 'go';
    case 'answered':
      return 'done';
    case 'failed':
      return 'danger';
    case 'stopped':
    case 'cancelled':
    case 'interrupted':
      return 'caution';
  }
}

/** The state of a session in words, with the reason where it says more. */
export function statusText({ status, reason }: SessionInfo): string {
  return reason === null || reason === 'answer' || reason === status ? status : `${status}: ${reason}`;
}
