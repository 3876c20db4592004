import type { Message, MessageToolCall } from '../../actors/model.ts';
import type { OwnRedactor } from '../../actors/redactor.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import { runRecord, type WholeInput } from '../../journal/format/run-input.ts';
import type { JsonObject } from '../../json/json.ts';
import { FINAL_ANSWER } from '../../machines/agent/typed-output.ts';
import type { AgentSetup } from '../../machines/contract/agent-setup.ts';
import { formsOf } from '../../machines/llm-call/conversation.ts';
import type { AgentCore } from '../core/agent-core.ts';
import { type ReadInput, mediaRefused } from '../options/input-parts.ts';
import type { RunOptions } from '../options/run-options.ts';
import type { OwnRegistry } from '../tools/registry.ts';

/** What a run that begins now is given. */
interface NewRun {
  readonly runId: string;
  readonly input: ReadInput;
  /** What it starts from. `at`: when it begins, as an ISO date; default now. */
  readonly opened: Pick<WholeInput, 'history' | 'queued'> & {
    readonly warnings?: readonly string[];
    readonly at?: string;
  };
  readonly setup: AgentSetup;
  readonly metadata: JsonObject;
  /** It was cancelled before it began, and why. */
  readonly cancelled?: string | undefined;
  /** What makes its marks for secrets. Default: the agent's. */
  readonly redactor?: OwnRedactor;
}

/** What a run starts from: without its input, and what was said to that, where the same input is given `again`. */
export function saidOnce<T extends Pick<WholeInput, 'history'>>(
  opened: T,
  { task, content }: ReadInput,
  { again = false }: Pick<RunOptions, 'again'>,
  own: Pick<OwnRegistry, 'has'>,
): T {
  const { history } = opened;
  const at = history.findLastIndex(({ role }) => role === 'user');
  const last = JSON.stringify(history[at]?.content);
  const isSame = formsOf(content ?? task).some((form) => JSON.stringify(form) === last);
  const isAnswer = ({ name }: MessageToolCall): boolean => name.startsWith(FINAL_ANSWER) && !own.has(name);
  const isOnlySaid = history.slice(at + 1).every(({ toolCalls = [] }) => toolCalls.every(isAnswer));
  return again && isSame && isOnlySaid ? { ...opened, history: history.slice(0, at) } : opened;
}

/** The first line of a run that begins now, with marks for secrets. */
export function newHead(core: AgentCore, run: NewRun): RunRecord {
  const { runId, input, opened, metadata, cancelled } = run;
  const { task, content } = input;
  const setup = { ...run.setup, warnings: [...run.setup.warnings, ...(opened.warnings ?? [])] };
  const messages: readonly Message[] =
    content === null ? opened.history : [...opened.history, { role: 'user', content }];
  const refused = core.mcp.missing() ?? mediaRefused(messages, setup, core.model.id);
  const whole = {
    task,
    ...(content === null ? {} : { content }),
    ...opened,
    setup,
    ...(cancelled === undefined ? {} : { cancelled }),
    ...(refused === null ? {} : { refused }),
  };
  const at = opened.at ?? new Date().toISOString();
  return core.redaction.redacted(runRecord(whole, { runId, at, metadata }), run.redactor);
}
