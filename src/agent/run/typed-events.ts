import type { RunEvent } from '../../machines/events/run-events.ts';
import type { Json } from '../../json/json.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { Tool, TypedTool } from '../../tools/tool.ts';

/** What is left of a value when it was written as JSON: a member that may be undefined may be missing. */
export type JsonOf<T> = Json extends T
  ? Json
  : T extends string | number | boolean | null
    ? T
    : T extends undefined
      ? null
      : T extends { toJSON(): infer TJson }
        ? JsonOf<TJson>
        : T extends readonly (infer TItem)[]
          ? readonly JsonOf<TItem>[]
          : T extends object
            ? WithGaps<T> extends infer TGaps
              ? { readonly [K in keyof TGaps]: JsonOf<Exclude<TGaps[K], undefined>> }
              : never
            : Json;

/** A value whose members may be missing where they may be undefined. */
type WithGaps<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: T[K];
};

/** A result as the tool gave it, bare or as `data`. A `status` known only as a text counts as a result's. */
type ResultOf<TOutput> = unknown extends TOutput
  ? ToolResult
  : TOutput extends { status: 'error' } | { error: string; data?: undefined }
    ? never
    : TOutput extends { status: infer TStatus; data: infer TData }
      ? Given<TOutput, TData, Extract<'success' | 'partial', TStatus>>
      : TOutput extends { status: string }
        ? ToolResult
        : Given<unknown, TOutput, 'success'>;

type Given<TOutput, TData, TStatus> = [TStatus] extends [never]
  ? ToolResult
  : { readonly status: TStatus; readonly data?: JsonOf<TData> } & Omit<JsonOf<TOutput>, 'status' | 'data'> &
      Pick<ToolResult, 'message' | 'instruction' | 'suggestion'>;

/** The members of events about calls of these tools. */
type Calls<TTools extends readonly Tool[]> = {
  readonly [K in keyof TTools]: TTools[K] extends TypedTool<infer TName, infer TArgs, infer TOutput, never>
    ? { readonly tool: TName; readonly args: JsonOf<TArgs>; readonly result: ResultOf<Awaited<TOutput>> }
    : never;
}[number];

type Started<TEvent, TCall> = TCall extends { readonly tool: string; readonly args: unknown }
  ? Omit<TEvent, 'tool' | 'args'> & Pick<TCall, 'tool' | 'args'>
  : never;

type Finished<TEvent, TCall> =
  | (TCall extends object ? Omit<TEvent, 'tool' | 'args' | 'result' | 'ok'> & TCall & { readonly ok: true } : never)
  | (TEvent & { readonly ok: false });

type Typed<TEvent, TCall> = TEvent extends { readonly type: 'tool.started' | 'approval.requested' }
  ? Started<TEvent, TCall>
  : TEvent extends { readonly type: 'tool.finished' }
    ? Finished<TEvent, TCall>
    : TEvent;

/**
 * The events of a run with these tools and no others: names, arguments and results of calls are known where the call ran.
 * A call that failed may be one of a tool that does not exist, so `tool.finished` knows more once `ok` is true.
 */
export type RunEventOf<TTools extends readonly Tool[]> = Tool extends TTools[number]
  ? RunEvent
  : Typed<RunEvent, Calls<TTools>>;

/** The results of calls of these tools. */
export type ToolResultOf<TTools extends readonly Tool[]> = Tool extends TTools[number]
  ? ToolResult
  : Calls<TTools>['result'] | (ToolResult & { readonly status: 'error' | 'partial' });

/** The context that all of these tools can do with. */
export type ContextOf<TTools extends readonly Tool[]> = {
  readonly [K in keyof TTools]: TTools[K] extends { readonly '~types'?: { readonly context: infer TTake } }
    ? TTake
    : (context: unknown) => void;
}[number] extends (context: infer TContext) => void
  ? TContext
  : unknown;
