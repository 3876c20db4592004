import type { McpError } from '../../actors/mcp/mcp-calls.ts';
import type { Effects } from '../../tools/spec.ts';
import type { McpResolvedSettings, McpToolTraits } from '../config/config.ts';
import { effectsFromAnnotations } from '../policies/effects-from-annotations.ts';
import type { LinkFault } from '../link/link.ts';

/** What a call's repetition would do: the configuration's word, else the server's hints. */
export function effectsOf({ annotations, override }: McpToolTraits): Effects {
  return override?.effects ?? effectsFromAnnotations(annotations);
}

/**
 * May a call be sent once more after a reconnect, although its first request may have reached the server? Never where
 * the configuration says `once`, never for a tool annotated destructive and not idempotent, and with `safe` only where
 * the tool is known to be read-only or idempotent.
 */
export function mayRepeat(tool: McpToolTraits, settings: Pick<McpResolvedSettings, 'retryAfterLoss'>): boolean {
  if (tool.override?.effects !== undefined) return tool.override.effects !== 'once';
  const { annotations } = tool;
  if (annotations?.destructiveHint === true && annotations.idempotentHint !== true) return false;
  return settings.retryAfterLoss !== 'safe' || effectsFromAnnotations(annotations) !== 'once';
}

/** Whether an error says by itself what became of a call that was sent. */
export function isPlain({ code }: McpError, delivered: boolean): boolean {
  return code === 'cancelled' || (!delivered && (code === 'login-required' || code === 'auth-required'));
}

/** What a fault of one request says about its link. */
export function reactionTo(fault: LinkFault): 'final' | 'lost' | 'later' | 'doubt' | 'refused' {
  switch (fault.kind) {
    case 'auth':
      // 403 says no to this request, 401 to all.
      return fault.data.status === 403 ? 'final' : 'refused';
    case 'scope':
      return 'refused';
    case 'session':
    case 'exited':
      return 'lost';
    case 'unreachable':
    case 'aborted':
      return 'doubt';
    case 'refused':
      if (typeof fault.data.retryAfterMs === 'number') return 'later';
      // 400 and 404 may mean a session that is gone, gateways say 502 to 504 for a server that is; a ping tells.
      return [400, 404, 502, 503, 504].includes(Number(fault.data.status)) ? 'doubt' : 'final';
    case 'not-found':
    case 'protocol':
    case 'answer':
    case 'limit':
      return 'final';
  }
}
