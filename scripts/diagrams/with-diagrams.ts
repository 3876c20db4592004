import { MACHINES } from './machines.ts';
import { mermaid } from './mermaid.ts';

const MARKED = /<!-- diagram: (\w+) -->[\s\S]*?<!-- \/diagram -->/g;

/** The Markdown with each `<!-- diagram: name -->` … `<!-- /diagram -->` filled anew from the machine of that name. */
export function withDiagrams(markdown: string): string {
  return markdown.replaceAll(MARKED, (_, name: string) => {
    const machine = MACHINES.get(name);
    if (machine === undefined)
      throw new Error(`There is no machine '${name}'; known are ${[...MACHINES.keys()].join(', ')}.`);
    return `<!-- diagram: ${name} -->\n\n\`\`\`mermaid\n${mermaid(machine)}\n\`\`\`\n\n<!-- /diagram -->`;
  });
}
