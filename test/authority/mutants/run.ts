/** Says of the parser with each of the changes whether it breaks a law, as JSON. */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { breaksLaw } from './laws.ts';
import { MUTANTS } from './mutants.ts';

const SOURCE = new URL('../../../src/', import.meta.url).href;
const OF = '?mutant=';
/** Our source as JavaScript: each parser has modules of its own, but all of them but one are the same text. */
const unchanged = new Map<string, string>();

function sourceOf(file: string, n: number): string {
  const mutant = MUTANTS[n];
  const text = (): string => readFileSync(new URL(file), 'utf8');
  if (mutant !== undefined && file === `${SOURCE}parsing/${mutant.file}`)
    return stripTypeScriptTypes(text().replace(mutant.from, () => mutant.to));
  const known = unchanged.get(file) ?? stripTypeScriptTypes(text());
  unchanged.set(file, known);
  return known;
}

registerHooks({
  resolve: (name, context, next) => {
    const found = next(name, context);
    const of = context.parentURL?.split(OF)[1];
    return of === undefined || !found.url.startsWith(SOURCE) ? found : { ...found, url: `${found.url}${OF}${of}` };
  },
  load: (url, context, next) => {
    const [file = '', of] = url.split(OF);
    return of === undefined
      ? next(url, context)
      : { format: 'module', source: sourceOf(file, Number(of)), shortCircuit: true };
  },
});

const broken: boolean[] = [];
for (const n of MUTANTS.keys()) {
  const { parseReply } = await import(`${SOURCE}parsing/reply/parse-reply.ts${OF}${n}`);
  broken.push(breaksLaw(parseReply));
}
console.log(JSON.stringify(broken));
