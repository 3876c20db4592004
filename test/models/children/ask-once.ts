// Asks one question of the model server at the address given, over the transport given, and prints the answer or the code of what failed; run as a
// process of its own.
import { chatModel } from '../../../src/models/index.ts';

const [baseURL = '', transport, connectMs = '30000', abortMs = ''] = process.argv.slice(2);
const controller = new AbortController();
if (abortMs !== '') setTimeout(() => controller.abort(), Number(abortMs));
const sentBy = transport === 'direct' ? 'direct' : 'openai';
const model = chatModel({ baseURL, model: 'm', apiKey: 'k', transport: sentBy, connectMs: Number(connectMs) });
const asked = model.complete(
  { messages: [{ role: 'user', content: 'Hello' }], toolCalling: 'native', stream: true },
  { signal: controller.signal },
);
console.log(
  await asked.then(
    ({ content }) => content,
    (error: object) => Reflect.get(error, 'code'),
  ),
);
