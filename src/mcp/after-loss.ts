import type { Effects } from '../tools/spec.ts';
import type { McpResolvedSettings, McpToolTraits } from './config.ts';
import { effectsFromAnnotations } from './effects-from-annotations.ts';

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
