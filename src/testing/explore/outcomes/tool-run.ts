import type { Effect } from '../../../actors/journal.ts';
import { isJsonObject } from '../../../json/json.ts';
import { textAt } from './text-at.ts';
import type { ToolRun } from '../view.ts';

/** The run of a tool that an effect is; null for other effects. */
export function toolRun({ name, request }: Effect): ToolRun | null {
  if (name !== 'callTool' || !isJsonObject(request)) return null;
  return { callId: textAt(request, 'callId'), tool: textAt(request, 'tool'), args: request.args ?? {} };
}
