// Replies as small local models write them: prose around the JSON, single quotes, an extra comma, numbers as text. The
// parser recovers them, lists its repairs, and marks a call whose arguments were cut off, so that it never runs.
import { createAgent, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';
import { z } from 'zod';

const add = tool({
  name: 'add',
  description: 'Adds two numbers.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

const model = scriptedModel(
  [
    'Sure! I will use a tool:\n```json\n{"thought": "add", "tool": "add", "tool_args": {"a": 1, "b": 2}}\n```',
    "{'thought': 'once more', 'tool': 'add', 'tool_args': {'a': 3, 'b': 4,},}",
    '{"thought": "numbers as text", "tool": "add", "tool_args": {"a": "5", "b": "6"}}',
    { content: '{"thought": "too long", "tool": "add", "tool_args": {"a": 7, "b"', finishReason: 'length' },
    'All three sums are done.',
  ],
  { toolCalling: 'json' },
);

const run = createAgent({ model, tools: [add] }).run('Add some numbers.');
for await (const event of run) {
  if (event.type === 'model.replied')
    console.log(`read as ${event.strategy}${event.repairs.length > 0 ? `, ${event.repairs.length} repairs` : ''}`);
  if (event.type === 'tool.finished')
    console.log(
      `  ${event.ok ? `${JSON.stringify(event.args)} gave ${JSON.stringify(event.result.data)}` : event.result.error}`,
    );
}
console.log((await run).result);
