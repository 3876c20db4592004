// Asks the model at an address where there is no `process`, or only an edge runtime's part of it, and prints what comes.
import { chatModel } from '../../../src/models/index.ts';
import { ask } from '../ask.ts';

const { argv, stdout } = process;
const [, , baseURL = '', where] = argv;
const refusing = (): never => {
  throw new Error('A Node.js API is used which is not supported in the Edge Runtime.');
};
const part = { env: {}, getBuiltinModule: refusing, cwd: refusing };
Object.defineProperty(globalThis, 'process', { value: where === 'edge' ? part : undefined });

let refused = 'nothing';
try {
  chatModel({ baseURL: 'http://model.test/v1', transport: 'direct' });
} catch (error) {
  refused = String(error);
}
const { content } = await ask(chatModel({ baseURL, model: 'm', apiKey: 'none' }));
stdout.write(JSON.stringify({ refused, content, process: typeof globalThis.process }));
