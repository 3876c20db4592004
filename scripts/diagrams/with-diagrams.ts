import { mermaid } from '../../src/inspector/diagram/mermaid.ts';
import { OWN_MACHINES } from '../../src/inspector/diagram/own-machines.ts';

const MARKED = /<!-- diagram: (\w+) -->[\s\S]*?<!-- \/diagram -->/g;

/** The Markdown with each `<!-- diagram: name -->` … `<!-- /diagram -->` filled anew from the machine of that name. */
export function withDiagrams(markdown: string): string {
  return markdown.replaceAll(MARKED, (_, name: string) => {
    const machine = OWN_MACHINES.get(name);
    if (machine === undefined)
      throw new Error(`There is no machine '${name}'; known are ${[...OWN_MACHINES.keys()].join(', ')}.`);
    return `<!-- diagram: ${name} -->\n\n\`\`\`mermaid\n${mermaid(machine)}\n\`\`\`\n\n<!-- /diagram -->`;
  });
}
