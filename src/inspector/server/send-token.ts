import { createHmac } from 'node:crypto';

/**
 * The token of those who may tell what happens and nothing else. It follows from the inspector's own token without
 * revealing it, so where that is chosen, the address for senders stays the same too.
 */
export function sendTokenOf(token: string): string {
  return createHmac('sha256', token).update('signalbox inspector: send only').digest('base64url');
}
