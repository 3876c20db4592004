// A chat that asks before its tool runs, behind an address that any runtime can serve.
import { createAgent, tool } from 'signalbox';
import { memoryJournal } from 'signalbox/journal';
import { scriptedModel } from 'signalbox/testing';
import { uiStream } from 'signalbox/ui';

const clock = tool({ name: 'clock', description: 'Tells the time.', policy: 'confirm', execute: () => '12:30' });
const model = scriptedModel([{ content: '', toolCalls: [{ name: 'clock' }] }, 'Half past twelve.']);
const journal = memoryJournal();
const agent = createAgent({ tools: [clock], silent: true, model, journal, confirm: 'wait', streaming: true });

export const handle = (request) => uiStream.serve(agent, request, { journal, owner: 'ann' });
