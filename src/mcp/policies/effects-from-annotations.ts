import type { McpToolAnnotations } from '../../actors/mcp/mcp-calls.ts';
import type { Effects } from '../../tools/spec.ts';

/** What a server's hints say about repeating a call: read-only is `none`, idempotent `idempotent`, all else `once`. */
export function effectsFromAnnotations(annotations: McpToolAnnotations | undefined): Effects {
  if (annotations?.readOnlyHint === true) return 'none';
  return annotations?.idempotentHint === true ? 'idempotent' : 'once';
}
