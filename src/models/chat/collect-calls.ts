import type { ModelReply } from '../../actors/model.ts';
import { isJsonObject, type JsonObject } from '../../json/json.ts';

/** The tool calls of a reply. */
export type ReplyCalls = NonNullable<ModelReply['toolCalls']>;

interface OpenCall {
  readonly index: number | undefined;
  id: string | undefined;
  name: string;
  /** Text while it is pieced together; an object where a server sent one. */
  args: string | JsonObject;
}

/** Puts tool calls together from whole ones or pieces. */
export interface CallCollector {
  /** Takes one entry of `tool_calls`. `onPiece` hears of argument text as it comes. */
  add(entry: unknown, onPiece?: (text: string, callIndex: number) => void): void;
  calls(): ReplyCalls;
}

/**
 * Collects tool calls however a server cuts them: by `index`, by `id` alone, by neither, each call whole in one piece,
 * arguments as text or as an object, the id repeated in every piece or by two different calls.
 */
export function createCallCollector(): CallCollector {
  const open: OpenCall[] = [];
  return {
    add(entry, onPiece) {
      if (!isJsonObject(entry)) return;
      const piece = readPiece(entry);
      const call = findCall(open, piece) ?? begin(open, piece);
      call.id ??= piece.id;
      if (piece.name !== '' && call.name !== piece.name) call.name += piece.name;
      if (typeof piece.args !== 'string') call.args = piece.args;
      else if (piece.args !== '') {
        call.args = typeof call.args === 'string' ? call.args + piece.args : piece.args;
        onPiece?.(piece.args, open.indexOf(call));
      }
    },
    calls: () => finished(open),
  };
}

interface Piece {
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string;
  readonly args: string | JsonObject;
}

function readPiece(entry: JsonObject): Piece {
  const inner = entry['function'];
  const source = isJsonObject(inner) ? inner : entry;
  const { id } = entry;
  const args = source['arguments'];
  return {
    index: typeof entry['index'] === 'number' ? entry['index'] : undefined,
    id: typeof id === 'string' && id !== '' ? id : undefined,
    name: typeof source['name'] === 'string' ? source['name'] : '',
    args: typeof args === 'string' || isJsonObject(args) ? args : '',
  };
}

/** The call that a piece continues; undefined when the piece begins a new one. */
function findCall(open: readonly OpenCall[], piece: Piece): OpenCall | undefined {
  const candidate =
    piece.index !== undefined
      ? open.findLast((call) => call.index === piece.index)
      : piece.id !== undefined
        ? open.findLast((call) => call.id === piece.id)
        : open.at(-1);
  if (candidate === undefined || piece.name === '') return candidate;
  // Some servers number every call 0: another id with a name is another call.
  if (piece.id !== undefined && candidate.id !== undefined && piece.id !== candidate.id) return undefined;
  // A name after arguments that are already whole begins the next call, whatever its number or id.
  return isWhole(candidate.args) ? undefined : candidate;
}

function begin(open: OpenCall[], { index, id }: Piece): OpenCall {
  const call: OpenCall = { index, id, name: '', args: '' };
  open.push(call);
  return call;
}

function isWhole(args: string | JsonObject): boolean {
  if (typeof args !== 'string') return true;
  if (!args.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(args);
    return true;
  } catch {
    return false;
  }
}

/** An id that an earlier call of the reply has already is left out: results could not be told apart. */
function finished(open: readonly OpenCall[]): ReplyCalls {
  const taken = new Set<string>();
  return open.map(({ id, name, args }) => {
    if (id === undefined || taken.has(id)) return { name, arguments: args };
    taken.add(id);
    return { id, name, arguments: args };
  });
}
