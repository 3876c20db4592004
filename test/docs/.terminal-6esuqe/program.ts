// One agent, one tool, one question. The model is a script, so it runs offline; for a real one: model: 'ollama:qwen2.5:7b'.
import { consoleOutput, createAgent, tool } from 'signalbox';
import { scriptedModel } from 'signalbox/testing';

const clock = tool({ name: 'clock', description: 'Tells the time of day.', execute: () => '12:30' });

const agent = createAgent({
  instructions: 'You tell people the time.',
  tools: [clock],
  output: consoleOutput(),
  model: scriptedModel([{ content: '', toolCalls: [{ name: 'clock' }] }, 'It is half past twelve.']),
});

const { result, states } = await agent.run('What time is it?');
console.log(`${result}\n${states.join(' → ')}`);
