// Asks one question of the model server at the address given, over the transport given, and prints the answer; run as a process of its own.
import { chatModel } from '../../../src/models/index.ts';

const [baseURL = '', transport] = process.argv.slice(2);
const model = chatModel({ baseURL, model: 'm', apiKey: 'k', transport: transport === 'direct' ? 'direct' : 'openai' });
const reply = await model.complete(
  { messages: [{ role: 'user', content: 'Hello' }], toolCalling: 'native', stream: true },
  { signal: new AbortController().signal },
);
console.log(reply.content);
