// A test that keeps its run in a file: recorded the first time, and from then on replayed without model and tools. Then a run
// with a model that makes mistakes on purpose.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent } from 'signalbox';
import {
  assertCalledTool,
  assertEndsWith,
  assertVisited,
  fakeTool,
  hostileModel,
  scriptedModel,
  useRecording,
} from 'signalbox/testing';

const folder = mkdtempSync(join(tmpdir(), 'signalbox-example-'));
const path = join(folder, 'warmest.jsonl');
const replies = [
  { content: '', toolCalls: [{ name: 'get_weather', arguments: { city: 'Austin' } }] },
  'It is 31 °C in Austin.',
];

/** The test: it does not know whether the run is live or replayed. */
async function test(what: string, celsius: number, options = {}) {
  const weather = fakeTool('get_weather', [{ celsius }]);
  const model = scriptedModel(replies);
  const agent = createAgent({ name: 'weatherman', model, tools: [weather], silent: true });
  try {
    const run = useRecording(path, options).run(agent, 'How warm is it in Austin?');
    await assertEndsWith(run, 'answer', '31 °C');
    await assertCalledTool(run, 'get_weather', { city: 'Austin' }, { times: 1 });
    await assertVisited(run, 'DIRECT_EXECUTION', 'COMPLETION');
    console.log(
      `${what}: passed; asked the model ${model.requests.length} times, the tool ${weather.calls.length} times`,
    );
  } catch (error) {
    console.log(`${what}: failed; ${/first difference: .*/.exec(String(error))?.[0]}`);
  }
}

await test('first time', 31);
await test('second time', 31);
await test('with a live tool', 31, { tools: 'live' });
await test('with a live tool that changed', -5, { tools: 'live' });
rmSync(folder, { recursive: true });

const weather = fakeTool('get_weather', [{ celsius: 31 }]);
const model = hostileModel({ seed: 3, replies, rate: 0.6 });
const { reason, result } = await createAgent({ model, tools: [weather], silent: true }).run(
  'How warm is it in Austin?',
);
console.log(`on a hostile model: ${reason}, ${result}`);
console.log(model.mistakesMade.map(({ request, mistake }) => `${request}: ${mistake}`).join(', '));
