// Asks one question of the model server at the address given and prints the answer; run as a process of its own.
import { chatModel } from '../../../src/models/index.ts';

const model = chatModel({ baseURL: process.argv[2] ?? '', model: 'm', apiKey: 'k' });
const reply = await model.complete(
  { messages: [{ role: 'user', content: 'Hello' }], toolCalling: 'native', stream: true },
  { signal: new AbortController().signal },
);
console.log(reply.content);
