// An application that takes something of every entry of the package, so that a bundler has to look at all of it.
import { createAgent, tool } from 'signalbox';
import { createInspector, statelyOutput, toResponse } from 'signalbox/inspector';
import { memoryJournal, sqliteJournal } from 'signalbox/journal';
import { agentMachine } from 'signalbox/machines';
import { createMcpConnection } from 'signalbox/mcp';
import { chatModel } from 'signalbox/models';
import { recoverJson } from 'signalbox/parsing';
import { validatePath } from 'signalbox/security';
import { scriptedModel } from 'signalbox/testing';

export const kept = [
  agentMachine,
  chatModel,
  createMcpConnection,
  memoryJournal,
  recoverJson,
  sqliteJournal,
  statelyOutput,
  toResponse,
  validatePath,
];

export async function answer() {
  const clock = tool({ name: 'clock', description: 'Tells the time.', execute: () => '12:30' });
  const model = scriptedModel([{ content: '', toolCalls: [{ name: 'clock' }] }, 'Half past twelve.']);
  const { result } = await createAgent({ tools: [clock], silent: true, model }).run('What time is it?');
  return kept.includes(undefined) ? 'something is missing' : result;
}

export async function page() {
  try {
    const inspector = await createInspector();
    const html = await fetch(inspector.url);
    const text = await html.text();
    await inspector.close();
    return `${html.status} ${text.slice(0, 15)}`;
  } catch (error) {
    return `${error.code}: ${error.message}`;
  }
}
