import { createInterface, type Interface } from 'node:readline';
import type { Interrupts } from '../command/interrupts.ts';

/** What came from the prompt: a question, the wish to leave, or a signal that ends the process. */
export type Typed =
  | { readonly kind: 'question'; readonly text: string }
  | { readonly kind: 'left' }
  | { readonly kind: 'stopped' };

/** Lines that follow each other within this time were pasted and belong together. */
const PASTE_MS = 40;
const PROMPT = '› ';

/**
 * Makes a reader of questions that remembers what was typed. Each reading opens the terminal and closes it again, so that
 * between questions it belongs to others. Pasted lines are one question. Ctrl-D on an empty line leaves, and so does
 * Ctrl-C twice, the one that interrupted a run included.
 */
export function questionReader(interrupts: Interrupts): (options: { readonly interrupted: boolean }) => Promise<Typed> {
  let history: string[] = [];
  return ({ interrupted }) =>
    new Promise((resolve) => {
      const reader = createInterface({ input: process.stdin, output: process.stderr, prompt: PROMPT, history });
      const lines: string[] = [];
      let quiet: ReturnType<typeof setTimeout> | undefined;
      let armed = interrupted;
      let typed: Typed = { kind: 'left' };

      const finish = (result: Typed): void => {
        typed = result;
        reader.close();
      };
      const submit = (): void => {
        // The last line of what was pasted may lack its line break: the user presses Enter.
        if (reader.line !== '') return;
        const text = lines.join('\n').trim();
        lines.length = 0;
        if (text === '') reader.prompt();
        else finish({ kind: 'question', text });
      };
      reader.on('line', (line) => {
        armed = false;
        lines.push(line);
        clearTimeout(quiet);
        quiet = setTimeout(submit, PASTE_MS);
      });
      reader.on('history', (known: string[]) => {
        history = [...known];
      });
      reader.on('close', () => {
        clearTimeout(quiet);
        unhandle();
        if (typed.kind !== 'question') process.stderr.write('\n');
        resolve(typed);
      });
      reader.prompt();
      const interrupt = (): void => {
        const discards = reader.line !== '' || lines.length > 0;
        lines.length = 0;
        if (discards) clearLine(reader);
        else if (armed) return finish({ kind: 'left' });
        else process.stderr.write('\nCtrl-C once more, or Ctrl-D, leaves.\n');
        armed = !discards;
        reader.prompt();
      };
      // The terminal gives Ctrl-C to the prompt; as a signal it comes from elsewhere, or from just before.
      reader.on('SIGINT', interrupt);
      const unhandle = interrupts.handle((signal) => {
        if (signal === 'SIGINT') interrupt();
        else finish({ kind: 'stopped' });
      });
    });
}

function clearLine(reader: Interface): void {
  reader.write(null, { ctrl: true, name: 'e' });
  reader.write(null, { ctrl: true, name: 'u' });
  process.stderr.write('\n');
}
