// A tool with typed arguments: the model sees the zod schema, the arguments are validated against it, and it types
// `execute`. With SIGNALBOX_MODEL=ollama:qwen2.5:7b, a real model decides instead of the script.
import { createAgent, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';
import { z } from 'zod';

const CELSIUS = new Map([
  ['Austin', 31],
  ['Oslo', 4],
]);

const weather = tool({
  name: 'get_weather',
  description: 'Current weather. Use it whenever the user asks about conditions in a city.',
  inputSchema: z.object({
    city: z.string().describe('City name'),
    unit: z.enum(['celsius', 'fahrenheit']).default('celsius'),
  }),
  effects: 'none',
  execute: ({ city, unit }) => {
    const celsius = CELSIUS.get(city);
    if (celsius === undefined)
      return { status: 'error', error: `No station in ${city}.`, suggestion: 'Try a larger city nearby.' };
    return { city, unit, degrees: unit === 'celsius' ? celsius : (celsius * 9) / 5 + 32 };
  },
});

const script = scriptedModel([
  {
    content: '',
    toolCalls: [
      { name: 'get_weather', arguments: { city: 'Austin' } },
      { name: 'get_weather', arguments: { city: 'Oslo' } },
    ],
  },
  'It is 31 °C in Austin and 4 °C in Oslo.',
]);

const agent = createAgent({
  name: 'weather',
  instructions: 'You are a weather assistant.',
  model: process.env.SIGNALBOX_MODEL ?? script,
  tools: [weather],
});

const run = agent.run('How warm is it in Austin and in Oslo?');
for await (const event of run) {
  if (event.type === 'tool.finished')
    console.log(`${event.tool}(${JSON.stringify(event.args)}) gave ${JSON.stringify(event.result.data)}`);
}
console.log((await run).result);
