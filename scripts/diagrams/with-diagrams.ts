import { mermaid } from '../../src/inspector/diagram/mermaid.ts';
import { OWN_MACHINES } from '../../src/inspector/diagram/own-machines.ts';

const MARKED = /<!-- diagram: (\w+)(, without actions)? -->[\s\S]*?<!-- \/diagram -->/g;

/**
 * The Markdown with each `<!-- diagram: name -->` … `<!-- /diagram -->` filled anew from the machine of that name;
 * `<!-- diagram: name, without actions -->` says less.
 */
export function withDiagrams(markdown: string): string {
  return markdown.replaceAll(MARKED, (_, name: string, less = '') => {
    const machine = OWN_MACHINES.get(name);
    if (machine === undefined)
      throw new Error(`There is no machine '${name}'; known are ${[...OWN_MACHINES.keys()].join(', ')}.`);
    const drawn = mermaid(machine, { actions: less === '' });
    return `<!-- diagram: ${name}${less} -->\n\n\`\`\`mermaid\n${drawn}\n\`\`\`\n\n<!-- /diagram -->`;
  });
}
