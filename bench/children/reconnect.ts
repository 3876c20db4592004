// Reconnects to a chat of about 1,000 events near its end. Arguments: make|read|serve, store, place, protocol, run, line; `serve`
// makes the run by a request of the protocol, reads its stream to the end, and then comes back to it.
import { createAgent, tool } from '../../src/index.ts';
import { fileJournal, sqliteJournal } from '../../src/journal/index.ts';
import { agUi, runStream, uiStream } from '../../src/ui/index.ts';

const CALLS = 166;
const [mode, store, place = '', protocol] = process.argv.slice(2);
const journal = store === 'sqlite' ? sqliteJournal(`${place}/runs.sqlite`) : fileJournal(place);
const look = tool({ name: 'look', description: 'Looks.', effects: 'none', execute: () => ({ degrees: 31 }) });
let turns = 0;
const agent = createAgent({
  model: {
    complete: async () => {
      turns += 1;
      return turns > CALLS
        ? { content: 'Done.' }
        : { content: '', toolCalls: [{ name: 'look', arguments: { turns } }] };
    },
  },
  tools: [look],
  maxSteps: CALLS + 1,
  silent: true,
  journal,
});
const served = { journal, owner: 'ada' };
const message = { id: 'm1', role: 'user', content: 'Go.', parts: [{ type: 'text', text: 'Go.' }] };

/** A request of a client that is behind this line of the run. */
function request(runId: string, line: number): Promise<Response> {
  const headers = { 'last-event-id': protocol === 'own' ? `${runId}:${String(line)}` : String(line) };
  if (protocol === 'own') return runStream.serve(agent, new Request('http://x/?id=chat', { headers }), served);
  if (protocol === 'ui')
    return uiStream.serve(agent, new Request(`http://x/api/chat/chat/stream?run=${runId}`, { headers }), served);
  const body = JSON.stringify({ threadId: 'chat', runId: 'ag-run', messages: [message] });
  return agUi.serve(agent, new Request('http://x/', { method: 'POST', headers, body }), served);
}

/** The run that a request of the protocol starts, once its stream was read to the end; and a line near its end. */
async function serve(): Promise<readonly [string, number]> {
  const post = (body: object) => new Request('http://x/?id=chat', { method: 'POST', body: JSON.stringify(body) });
  if (protocol === 'own') {
    await runStream.serve(agent, post({ type: 'send', text: 'Go.' }), served);
    await (await runStream.serve(agent, new Request('http://x/?id=chat'), served)).text();
  } else if (protocol === 'ui')
    await (await uiStream.serve(agent, post({ id: 'chat', messages: [message] }), served)).text();
  else await (await agUi.serve(agent, post({ threadId: 'chat', runId: 'ag-run', messages: [message] }), served)).text();
  const [run] = (await journal.list?.()) ?? [];
  const lines = (await journal.read?.(run?.runId ?? ''))?.lines.length ?? 0;
  return [run?.runId ?? '', lines - 6];
}

if (mode === 'make') {
  const run = agent
    .conversation('ada/chat', { owner: 'ada' })
    .run('Go.', { metadata: { uiMessage: 'm1', agUiRun: 'ag-run' } });
  let events = 0;
  for await (const event of run) if (event.type !== 'model.token') events += 1;
  const lines = (await journal.read?.(run.runId))?.lines.length ?? 0;
  console.log(JSON.stringify({ runId: run.runId, events, lines }));
} else {
  const [runId, line] = mode === 'serve' ? await serve() : [process.argv[6] ?? '', Number(process.argv[7])];
  const times: number[] = [];
  let length = 0;
  for (let round = 0; round < 10; round += 1) {
    const begun = performance.now();
    const text = await (await request(runId, line)).text();
    times.push(performance.now() - begun);
    length = text.length;
  }
  const warm = times.slice(5).toSorted((a, b) => a - b)[2];
  console.log(JSON.stringify({ cold: times[0], second: times[1], warm, length }));
}
await agent.close();
