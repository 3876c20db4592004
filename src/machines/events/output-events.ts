import type { ShownOutput } from '../agent/typed-output.ts';
import type { RunEventBody } from './run-events.ts';
import { type Json, type JsonSchema, isJsonObject } from '../../json/json.ts';
import { coerceTo } from '../../parsing/schema/coerce.ts';
import { FitContext } from '../../parsing/schema/fit-context.ts';
import { fit } from '../../parsing/schema/fit.ts';
import { recoverJson } from '../../parsing/recover/recover-json.ts';

type OutputBody = Extract<RunEventBody, { readonly type: 'output.partial' | 'output.element' }>;

/** A piece of a reply, once it is known whether it may be the answer. */
interface OutputPiece {
  readonly kind: 'text' | 'reasoning' | 'arguments';
  readonly text: string;
  /** The tool whose arguments it belongs to; undefined if the model does not say. */
  readonly tool?: string | undefined;
  /** The position of that call in the reply. */
  readonly callIndex?: number | undefined;
}

/** A long answer is read again once it has grown by this share, so that the work stays in proportion to its length. */
const GROWTH = 1 / 64;

/**
 * Follows an answer that has a schema while it arrives: snapshots of what has arrived of it, and for a list each element
 * once it is whole and fits. Of several answers in one reply it follows the first call, which is the one that counts.
 */
export class OutputSoFar {
  #piece: OutputPiece | null = null;
  #text = '';
  #read = 0;
  #last = '';
  #elements = 0;

  /** A reply begins. */
  begin(): void {
    this.#follow(null);
  }

  #follow(piece: OutputPiece | null): void {
    this.#piece = piece;
    this.#text = '';
    this.#read = 0;
    this.#last = '';
    this.#elements = 0;
  }

  /** The events of a piece of a reply. */
  take(piece: OutputPiece, shown: ShownOutput, attempt: number): readonly OutputBody[] {
    const { kind, tool, callIndex } = piece;
    const isAnswer = kind === 'arguments' ? isOutputTool(shown, tool) : kind === 'text';
    if (!isAnswer) return [];
    if (this.#piece === null || (kind === 'arguments' && this.#piece.kind === 'text')) this.#follow(piece);
    if (kind !== this.#piece?.kind || callIndex !== this.#piece.callIndex) return [];
    this.#text += piece.text;
    return this.#text.length - this.#read < this.#text.length * GROWTH ? [] : this.#readAgain(shown, attempt);
  }

  /** The events of what was not read yet, once the reply is over. */
  end(shown: ShownOutput, attempt: number): readonly OutputBody[] {
    return this.#read === this.#text.length ? [] : this.#readAgain(shown, attempt);
  }

  #readAgain(shown: ShownOutput, attempt: number): readonly OutputBody[] {
    this.#read = this.#text.length;
    const found = recoverJson(this.#text);
    if (!found.ok || this.#piece === null) return [];
    const value = answerIn(found.complete ? found.value : withoutEdge(found.value), this.#piece, shown);
    if (value === undefined || !mayBe(value, shown.spec.schema)) return [];
    return this.#events(value, shown.spec.schema, { attempt, isWhole: found.complete });
  }

  #events(
    value: Json,
    schema: JsonSchema,
    { attempt, isWhole }: { readonly attempt: number; readonly isWhole: boolean },
  ): readonly OutputBody[] {
    const text = JSON.stringify(value);
    const events: OutputBody[] = text === this.#last ? [] : [{ type: 'output.partial', output: value, attempt }];
    this.#last = text;
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

/** False for a value of another kind than the schema asks for, such as a list in the words before an object. */
function mayBe(value: Json, schema: JsonSchema): boolean {
  const type = isJsonObject(schema) ? schema.type : undefined;
  if (type === 'object') return isJsonObject(value);
  return type !== 'array' || Array.isArray(value);
}

/** The value without the null that stands where its text ends: nothing has come there yet. */
function withoutEdge(value: Json): Json {
  if (Array.isArray(value)) {
    const last: Json = value.at(-1) ?? null;
    return last === null ? value.slice(0, -1) : [...value.slice(0, -1), withoutEdge(last)];
  }
  if (!isJsonObject(value)) return value;
  const [name, last = null] = Object.entries(value).at(-1) ?? [];
  if (name === undefined) return value;
  const { [name]: _edge, ...before } = value;
  return last === null ? before : { ...value, [name]: withoutEdge(last) };
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
