import type { Json } from '../../json/json.ts';

/** A tool that ran on the way to a state. */
export interface ToolRun {
  readonly callId: string;
  readonly tool: string;
  readonly args: Json;
}

/** What an explored machine is waiting for. */
export interface OpenEffect {
  readonly id: string;
  /** The leaf's name, or `timer`. */
  readonly name: string;
  readonly request: Json;
}

/** A state that an exploration has come to, for laws and predicates of your own. */
export interface View {
  /** The root machine's state as one dotted path, `PLANNING.ASKING`. */
  readonly state: string;
  /** The states of all machines by their actor's path, `{ agent: …, 'agent/c1': 'RUNNING' }`. */
  readonly states: { readonly [path: string]: string };
  /** The root machine's context. */
  readonly context: unknown;
  /** What the machine ended with; undefined while it goes on. */
  readonly output: unknown;
  readonly over: boolean;
  /** What it waits for. */
  readonly open: readonly OpenEffect[];
  /** The tools that were run on the way here, oldest first. */
  readonly ran: readonly ToolRun[];
  /** Every state that the root machine was in on the way here, oldest first. */
  readonly visited: readonly string[];
  /** What happened on the way here, in words, oldest first. */
  readonly path: readonly string[];
}
