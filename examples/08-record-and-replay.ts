// A recorded run as a regression test: the replay calls nothing and waits for nothing, makes the same transitions, and
// fails with the first difference if a prompt or a tool has changed.
import { ReplayDivergenceError, createAgent, tool } from 'signalbox';
import { replay, transitions } from 'signalbox/journal';
import { scriptedModel } from 'signalbox/testing';
import { z } from 'zod';

let sent = 0;
const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  inputSchema: z.object({ to: z.string(), text: z.string() }),
  execute: ({ to }) => `mail ${++sent} to ${to} is on its way`,
});
const options = { name: 'secretary', instructions: 'You write polite mails.', tools: [sendMail], silent: true };

const model = scriptedModel([
  {
    content: '',
    toolCalls: [{ name: 'send_mail', arguments: { to: 'ada@example.com', text: 'Dear Ada, thank you!' } }],
  },
  'I have thanked Ada.',
]);
const run = createAgent({ ...options, model }).run('Thank Ada.');
await run;
const recording = run.recording();
console.log(
  `recorded: ${recording
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).t)
    .join(' ')}`,
);

const neverAsked = scriptedModel([]);
const replayed = replay(recording, createAgent({ ...options, model: neverAsked }));
console.log(`replayed: ${(await replayed).result}`);
console.log(`mails sent: ${sent}, requests to the model: ${neverAsked.requests.length}`);
console.log(`same transitions: ${JSON.stringify(replayed.transitions()) === JSON.stringify(run.transitions())}`);
console.log(`from the file alone: ${JSON.stringify(transitions(recording)) === JSON.stringify(run.transitions())}`);

const edited = createAgent({ ...options, model: neverAsked, instructions: 'You write curt mails.' });
try {
  await replay(recording, edited);
} catch (error) {
  if (error instanceof ReplayDivergenceError) console.log(`${error.name}: ${error.difference}`);
}
