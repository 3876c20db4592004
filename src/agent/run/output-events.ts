import type { ShownOutput } from '../../machines/agent/typed-output.ts';
import type { RunEventBody } from '../../machines/events/run-events.ts';
import { type Json, type JsonSchema, isJsonObject } from '../../json/json.ts';
import { coerceTo } from '../../parsing/schema/coerce.ts';
import { FitContext } from '../../parsing/schema/fit-context.ts';
import { fit } from '../../parsing/schema/fit.ts';
import { recoverJson } from '../../parsing/recover/recover-json.ts';

type OutputBody = Extract<RunEventBody, { readonly type: 'output.partial' | 'output.element' }>;

/** A piece of a reply of which it is known whether it may be the answer. */
interface OutputPiece {
  readonly kind: 'text' | 'reasoning' | 'arguments';
  readonly text: string;
  /** The tool whose arguments it belongs to; undefined where the model does not say. */
  readonly tool?: string | undefined;
}

/** A long answer is read again once it has grown by this share, so that the work stays in proportion to its length. */
const GROWTH = 1 / 64;

/**
 * Follows an answer that has a schema while it arrives: snapshots of what there is of it, and for a list each element once
 * it is whole and fits.
 */
export class OutputSoFar {
  #text = '';
  #read = 0;
  #last = '';
  #elements = 0;

  /** A reply begins. */
  begin(): void {
    this.#text = '';
    this.#read = 0;
    this.#last = '';
    this.#elements = 0;
  }

  /** The events of a piece of a reply; `isEnd`: nothing more comes of it. */
  take(piece: OutputPiece, shown: ShownOutput, attempt: number, isEnd = false): readonly OutputBody[] {
    const isAnswer = piece.kind === 'arguments' ? isOutputTool(shown, piece.tool) : piece.kind === 'text';
    if (!isAnswer) return [];
    this.#text += piece.text;
    if (!isEnd && this.#text.length - this.#read < this.#text.length * GROWTH) return [];
    this.#read = this.#text.length;
    const found = recoverJson(this.#text);
    if (!found.ok) return [];
    const value = answerIn(found.value, piece, shown);
    return value === undefined ? [] : this.#events(value, shown.spec.schema, { attempt, isWhole: found.complete });
  }

  #events(
    value: Json,
    schema: JsonSchema,
    { attempt, isWhole }: { readonly attempt: number; readonly isWhole: boolean },
  ): readonly OutputBody[] {
    const text = JSON.stringify(value);
    if (text === this.#last) return [];
    this.#last = text;
    const events: OutputBody[] = [{ type: 'output.partial', output: value, attempt }];
    const items = Array.isArray(value) ? value : [];
    // The last one may still grow.
    const upTo = isWhole ? items.length : items.length - 1;
    for (; this.#elements < upTo; this.#elements += 1) {
      const element = fitted(items[this.#elements] ?? null, schema);
      if (element !== undefined)
        events.push({ type: 'output.element', element: element.value, index: this.#elements, attempt });
    }
    return events;
  }
}

function isOutputTool({ tools }: ShownOutput, name: string | undefined): boolean {
  return name !== undefined && tools.some(({ tool }) => tool.name === name);
}

/** The answer within what was read: the value of an envelope, or of an object that stands around it. */
function answerIn(value: Json, { kind, tool }: OutputPiece, { tools, spec }: ShownOutput): Json | undefined {
  if (!isJsonObject(value)) return value;
  const wraps =
    kind === 'arguments' ? tools.find((one) => one.tool.name === tool)?.wraps : tools.length === 1 && tools[0]?.wraps;
  if (wraps === true && 'value' in value) return value.value;
  if (kind === 'arguments') return wraps === true ? undefined : value;
  const isEnvelope = 'answer' in value && !isMember('answer', spec.schema);
  if (isEnvelope) return value.answer;
  return 'thought' in value && !isMember('thought', spec.schema) ? undefined : value;
}

function isMember(name: string, schema: JsonSchema): boolean {
  return isJsonObject(schema) && isJsonObject(schema.properties) && Object.hasOwn(schema.properties, name);
}

/** An element as the schema of the list's items has it; undefined where it does not fit. */
function fitted(element: Json, schema: JsonSchema): { readonly value: Json } | undefined {
  const items = isJsonObject(schema) ? (schema.items ?? true) : true;
  const context = new FitContext(schema, { coerce: coerceTo });
  const value = fit(element, isJsonObject(items) || typeof items === 'boolean' ? items : true, context);
  return context.issues.length === 0 ? { value } : undefined;
}
