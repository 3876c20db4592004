import { parsePartialJson } from 'ai';
import { jsonrepair } from 'jsonrepair';
import { recoverJson } from '../../src/parsing/index.ts';

/** A way to get a value out of a text; undefined when there is none. */
export interface Contender {
  readonly name: string;
  readonly recover: (text: string) => unknown;
}

const OPTIONAL: readonly { readonly name: string; readonly pick: (module: Record<string, unknown>) => unknown }[] = [
  { name: 'partial-json', pick: ({ parse }) => parse },
  {
    name: 'best-effort-json-parser',
    pick: ({ parse }) => {
      // It writes every text with something behind its JSON to the console: that is not what is timed here.
      if (typeof parse === 'function') Reflect.set(parse, 'onExtraToken', () => undefined);
      return parse;
    },
  },
  {
    name: 'json5',
    pick: ({ default: json5 }) =>
      typeof json5 === 'object' && json5 !== null && 'parse' in json5 ? json5.parse : undefined,
  },
];

/** Signalbox and the peers that are installed. */
export async function contenders(): Promise<readonly Contender[]> {
  const own: Contender = {
    name: 'signalbox',
    recover: (text) => {
      const found = recoverJson(text);
      return found.ok ? found.value : undefined;
    },
  };
  const peers = await Promise.all(OPTIONAL.map(load));
  return [
    own,
    { name: 'JSON.parse', recover: (text) => JSON.parse(text) },
    { name: 'jsonrepair', recover: (text) => JSON.parse(jsonrepair(text)) },
    { name: 'ai', recover: async (text) => (await parsePartialJson(text)).value },
    ...peers.filter((peer) => peer !== undefined),
  ];
}

async function load({ name, pick }: (typeof OPTIONAL)[number]): Promise<Contender | undefined> {
  try {
    const parse = pick(await import(name));
    if (typeof parse !== 'function') return undefined;
    return { name, recover: (text) => Reflect.apply(parse, undefined, [text]) };
  } catch {
    console.log(`${name} is not installed: left out`);
    return undefined;
  }
}
