import type { JsonObject } from '../../src/json/json.ts';

/** What one contender is to do: ask the model, call the tool as often as it says, stop at the answer. */
export interface Job {
  readonly baseURL: string;
  /** Tool calls before the answer; a run has one model turn more. */
  readonly calls: number;
  /** Called by the tool, once a call. */
  readonly onCall: () => void;
}

/** Opens what outlives a run (clients, modules), and gives back the run: a fresh conversation, its answer's text. */
export type Contender = (job: Job) => Promise<() => Promise<string>>;

export const INSTRUCTIONS = 'You are a weather assistant.';
export const TASK = 'What is the weather in all cities on the list?';
export const ANSWER = 'It is mild everywhere.';
export const TOOL_NAME = 'get_weather';
export const TOOL_DESCRIPTION = 'Current weather. Use it whenever the user asks about conditions in a city.';
export const TOOL_SCHEMA: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string', description: 'City name' } },
  required: ['city'],
  additionalProperties: false,
};

/** The tool's work: next to none. */
export function weatherIn(city: unknown, { onCall }: Job): { readonly city: string; readonly celsius: number } {
  onCall();
  return { city: String(city), celsius: 21 };
}

/** The model's name tells the server how many calls to ask for. */
export function modelFor(calls: number): string {
  return `calls-${String(calls)}`;
}

/** The calls that a model's name stands for. */
export function callsOf(model: string | undefined): number {
  return Number(/^calls-(\d+)$/.exec(model ?? '')?.[1] ?? 0);
}
