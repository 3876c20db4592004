/** A program that uses agents badly in many ways, tells each before it does it, and then has nothing more to do. */
import { createAgent } from '../../../src/agent/create-agent.ts';
import type { Model } from '../../../src/actors/model.ts';
import type { AgentOptions } from '../../../src/agent/options/agent-options.ts';
import { replay } from '../../../src/journal/replay/replay.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { calls } from '../../support/replies.ts';

const forever = () => new Promise<never>(() => undefined);
const boom = (): never => {
  throw new Error('boom');
};
const asyncBoom = () => Promise.reject(new Error('boom'));
const agentWith = (options: AgentOptions) => createAgent({ model: scriptedModel(['Hi.']), silent: true, ...options });
const stuck = fakeTool('stuck', [forever]);
const started = async (type: string, run: ReturnType<ReturnType<typeof agentWith>['run']>) => {
  for await (const event of run) if (event.type === type) return;
};
const store = (next: () => Promise<never>) => ({
  open: () => ({ open: () => undefined, close: () => undefined, next, end: () => undefined, send: asyncBoom }),
});

const ways: Readonly<Record<string, () => unknown>> = {
  'listener throws': () => agentWith({ onEvent: boom }).run('Hello'),
  'listener rejects': () => agentWith({ onEvent: asyncBoom }).run('Hello'),
  'output throws': () =>
    agentWith({ output: { processingStart: boom, finalAnswer: boom, completion: boom } }).run('Hello'),
  'output rejects': () => agentWith({ output: { processingStart: asyncBoom, finalAnswer: asyncBoom } }).run('Hello'),
  'nobody awaits a failure': () => void agentWith({ model: scriptedModel([]), retry: { maxAttempts: 1 } }).run('Hello'),
  'nobody awaits orThrow of a good run': () => agentWith({}).run('Hello').orThrow(),
  'tool rejects after it was cancelled': async () => {
    const late = fakeTool('late', [() => new Promise((_, reject) => setTimeout(() => reject(new Error('late')), 50))]);
    const run = agentWith({ model: scriptedModel([calls(['late'])]), tools: [late] }).run('Hello');
    await started('tool.started', run);
    await run.cancel();
  },
  'tool rejects after its time': () => {
    const late = fakeTool('late', [() => new Promise((_, reject) => setTimeout(() => reject(new Error('late')), 60))], {
      timeoutMs: 10,
    });
    return agentWith({ model: scriptedModel([calls(['late']), 'Hi.']), tools: [late] }).run('Hello');
  },
  'cancelled while a tool is stuck': async () => {
    const run = agentWith({ model: scriptedModel([calls(['stuck'])]), tools: [stuck] }).run('Hello');
    await started('tool.started', run);
    await run.cancel();
  },
  'cancelled while a model is stuck': async () => {
    const run = agentWith({ model: { complete: forever } }).run('Hello');
    await started('step.started', run);
    await run.cancel();
  },
  'total time runs out while a tool is stuck': () =>
    agentWith({ model: scriptedModel([calls(['stuck'])]), tools: [stuck], timeouts: { totalMs: 30 } }).run('Hello'),
  'answered long before its total time': () => agentWith({ timeouts: { totalMs: 600_000 } }).run('Hello'),
  'model rejects after it was cancelled': async () => {
    const model = {
      complete: () => new Promise<never>((_, reject) => setTimeout(() => reject(new Error('late')), 50)),
    };
    const run = agentWith({ model }).run('Hello');
    await started('step.started', run);
    await run.cancel();
  },
  'model tells tokens after its reply': () => {
    const model: Model = {
      complete: (_request, { onToken }) => {
        setTimeout(() => onToken?.({ kind: 'text', text: 'late' }), 20);
        return Promise.resolve({ content: 'Hi.' });
      },
    };
    return agentWith({ model, streaming: true }).run('Hello');
  },
  'journal cannot be opened': () => agentWith({ journal: { open: boom } }).run('Hello'),
  'journal fails': () => agentWith({ journal: store(asyncBoom) }).run('Hello'),
  'replay diverges and nobody listens': async () => {
    const run = agentWith({}).run('Hello');
    await run;
    void replay(run.recording(), agentWith({ instructions: 'Changed.' }));
  },
  'store of permissions fails': () =>
    agentWith({
      model: scriptedModel([calls(['ask']), 'Hi.']),
      tools: [fakeTool('ask', [1], { policy: 'confirm' })],
      permissions: { isAlwaysAllowed: asyncBoom, add: asyncBoom },
      confirm: () => 'always-allow',
    }).run('Hello'),
  'confirm rejects': () =>
    agentWith({
      model: scriptedModel([calls(['ask']), 'Hi.']),
      tools: [fakeTool('ask', [1], { policy: 'confirm' })],
      permissions: { isAlwaysAllowed: () => false, add: () => undefined },
      confirm: asyncBoom,
    }).run('Hello'),
};

for (const [way, misuse] of Object.entries(ways)) {
  console.log(way);
  await misuse();
  // What a way leaves behind goes off while its name is the last one printed.
  await new Promise((resolve) => setTimeout(resolve, 80));
}
console.log('done');
