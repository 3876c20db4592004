import type { SessionInfo } from '../../frames/protocol.ts';
import type { Tone } from '../model/tone.ts';

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
