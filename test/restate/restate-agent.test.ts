import { connect } from '@restatedev/restate-sdk-clients';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Agent } from '../../src/agent/agent-types.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Model } from '../../src/actors/model.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { RecordingPlayer } from '../../src/journal/replay/recording-player.ts';
import { replay, transitions } from '../../src/journal/replay/replay.ts';
import { followRun } from '../../src/journal/run/follow-run.ts';
import { restateAgent, restateClient } from '../../src/restate/index.ts';
import { recover } from '../../src/recovery/recover.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { calls } from '../support/replies.ts';
import { freePort } from '../support/free-port.ts';
import { RestateServer, restateBinary } from '../support/restate-server.ts';
import { cases } from '../support/soak.ts';
import { clientOf, modelByTurn, served, until, waitingCall } from './served-agent.ts';

const missing = restateBinary() === null;
if (missing) console.warn('Skipped: npm has installed no Restate server for this platform.');

describe.skipIf(missing)('an agent on Restate', () => {
  let server: RestateServer;
  beforeAll(async () => {
    server = await RestateServer.start();
  });
  afterAll(async () => server[Symbol.asyncDispose]());

  const on = async (options: AgentOptions, given = {}) => {
    const agent: Agent = createAgent({ silent: true, confirm: 'wait', ...options });
    const service = restateAgent(agent, given);
    return { agent, client: clientOf(server, service), endpoint: await served(server, [service]) };
  };

  const mailer = (more: AgentOptions = {}) => {
    const mail = fakeTool('mail', ['sent'], { policy: 'confirm', effects: 'once' });
    const look = fakeTool('look', ['seen'], { effects: 'idempotent' });
    const model = modelByTurn(calls(['look'], ['mail', { to: 'Ada' }]), 'Mailed.');
    return { mail, look, options: { name: 'mailer', model, tools: [look, mail], ...more } };
  };

  test('an approval comes through send, and the recording replays locally byte for byte', async () => {
    const { options, mail } = mailer();
    const { agent, client, endpoint } = await on(options);
    await using _ = endpoint;
    await client.start('approved', 'Mail Ada');
    const callId = await waitingCall(client, 'approved', 'mail');
    expect(mail.calls).toEqual([]);
    const approvedAt = Date.now();
    expect(await client.send('approved', { type: 'approve', callId })).toBe(true);
    const result = await client.result('approved');
    expect(result).toMatchObject({ result: 'Mailed.', status: 'answered', runId: 'approved', stepsTaken: 2 });
    expect(result).not.toHaveProperty('messages');
    expect(mail.calls).toEqual([{ to: 'Ada' }]);
    const recording = (await client.recording('approved')) ?? '';
    const { head, lines } = readRecording(recording);
    const [answeredAt = 0] = lines.flatMap((line) => (line.t === 'event' ? [line.at] : []));
    expect(Date.parse(head.at) + answeredAt).toBeGreaterThanOrEqual(approvedAt);
    const again = replay(recording, agent);
    expect(await again).toMatchObject({ ...result });
    expect(again.recording()).toBe(recording);
    expect(transitions(recording)).toEqual(again.transitions());
    expect(await client.state('approved')).toMatchObject({ status: 'answered', pending: [], path: 'COMPLETION' });
  });

  test('an approval of a call that does not wait is no answer to what the agent itself asks', async () => {
    const pay = fakeTool('pay', [new Error('no card')], { onError: { executionError: recover.escalate() } });
    const { client, endpoint } = await on({
      name: 'asker',
      model: modelByTurn(calls(['pay']), 'Done.'),
      tools: [pay],
      onEscalation: (_error, to) => to.askHuman('Which card?'),
    });
    await using _ = endpoint;
    await client.start('asked', 'Pay');
    const waiting = () => client.state('asked').then((state) => (state?.pending ?? []).map(({ callId }) => callId));
    const [question = ''] = await until(async () => ((found) => (found.length > 0 ? found : null))(await waiting()));
    expect(await client.send('asked', { type: 'approve', callId: 'c1' })).toBe(false);
    expect(await waiting()).toEqual([question]);
    expect(await client.send('asked', { type: 'approve', callId: question })).toBe(true);
    expect(await client.result('asked')).toMatchObject({ status: 'answered', result: 'Done.' });
  });

  test('a mark that a user writes stands for no secret of another run', async () => {
    const { options, look } = mailer();
    const model = modelByTurn(calls(['look', { key: '«secret:1»' }]), 'Looked.');
    const { client, endpoint } = await on({ ...options, model });
    await using _ = endpoint;
    const key = `sk-${'o'.repeat(30)}`;
    await client.start('ada', `My key is ${key}.`);
    await client.result('ada');
    await client.start('bob', 'My key is «secret:1».');
    const { errorHistory } = await client.result('bob');
    expect(look.calls).toEqual([{ key }]);
    expect(errorHistory[0]).toMatchObject({ tool: 'look', message: expect.stringContaining('«secret:1»') });
  });

  test('an agent of another process reaches runs by their ids', async () => {
    const { options, mail } = mailer();
    const { client, endpoint } = await on(options);
    await using _ = endpoint;
    const other = createAgent({ ...mailer().options, silent: true, journal: client.journal });
    await client.start('by-id', 'Mail Ada');
    const callId = await waitingCall(client, 'by-id', 'mail');
    expect(await other.steer('by-id', 'And greet her.')).toEqual({ delivered: false, reason: 'kept' });
    expect(await other.approve('by-id', 'no-such-call')).toBe(false);
    expect(mail.calls).toEqual([]);
    expect(await other.approve('by-id', callId)).toBe(true);
    expect(await client.result('by-id')).toMatchObject({ status: 'answered' });
    const recording = await other.recording('by-id');
    expect(recording).toBe(await client.recording('by-id'));
    expect(recording).toContain('And greet her.');
    expect(await other.steer('by-id', 'Late.')).toEqual({ delivered: false, reason: 'over' });
    expect(await other.cancel('by-id')).toBe(false);
    expect(mail.calls).toHaveLength(1);

    await client.start('by-id-2', 'Mail Ada');
    await waitingCall(client, 'by-id-2', 'mail');
    expect(await other.cancel('by-id-2', 'enough')).toBe(true);
    expect(await client.result('by-id-2')).toMatchObject({ status: 'cancelled' });
    expect(await other.approve('nowhere', 'c1')).toBe(false);
    expect(await other.recording('nowhere')).toBeNull();
    expect(await other.run('Hello')).toMatchObject({ status: 'failed' });
    expect(mail.calls).toHaveLength(1);
  });

  test('a rejected call does not run, and the model is told why', async () => {
    const { options, mail } = mailer();
    const { client, endpoint } = await on(options);
    await using _ = endpoint;
    await client.start('rejected', 'Mail Ada');
    const callId = await waitingCall(client, 'rejected', 'mail');
    expect(await client.send('rejected', { type: 'reject', callId, reason: 'not today' })).toBe(true);
    expect(await client.result('rejected')).toMatchObject({ status: 'answered' });
    expect(mail.calls).toEqual([]);
    expect(await client.recording('rejected')).toContain('not today');
  });

  test('an unknown run, a second run of the same id, a wrong message and a run that is over are refused', async () => {
    const { options, look } = mailer({ model: modelByTurn(calls(['look']), 'Seen.') });
    const { client, endpoint } = await on(options);
    await using _ = endpoint;
    await expect(client.send('nobody', { type: 'cancel' })).rejects.toMatchObject({ status: 404 });
    expect(await client.state('nobody')).toBeNull();
    expect(await client.recording('nobody')).toBeNull();
    await expect(client.run('blank', ' ')).rejects.toMatchObject({ status: 400 });
    expect(await client.run('first', 'Look')).toMatchObject({ result: 'Seen.' });
    await expect(client.run('first', 'Look')).rejects.toMatchObject({ status: 409 });
    expect(look.calls).toHaveLength(1);
    expect(await client.send('first', { type: 'cancel' })).toBe(false);
    expect(await client.send('first', { type: 'steer', text: 'More' })).toBe(false);
    await expect(client.send('first', { type: 'steer', text: ' ' })).rejects.toMatchObject({ status: 400 });
    const wrong: object = { type: 'explode' };
    await expect(client.send('first', wrong as { type: 'cancel' })).rejects.toMatchObject({ status: 400 });
  });

  test('a request that no run can be made of is refused at once, and begins nothing', async () => {
    const { options, look } = mailer({ model: modelByTurn(calls(['look']), 'Seen.'), maxSteps: 3 });
    const { client, endpoint } = await on(options);
    await using _ = endpoint;
    const said = { role: 'user', content: 'Hello' };
    const wrong: readonly object[] = [
      { input: 'Look', history: [{ role: 'bogus' }] },
      { input: 'Look', history: [5] },
      { input: 'Look', history: null },
      { input: 'Look', maxSteps: 'many' },
      { input: 'Look', maxSteps: 0 },
      { input: 'Look', maxStep: 1 },
      { input: 'Look', tools: [] },
    ];
    const refused = wrong.map(async (request, at) => {
      const ended = client.run(`wrong-${at}`, request as { input: string });
      await expect(ended, JSON.stringify(request)).rejects.toMatchObject({ status: 400 });
      expect(await client.state(`wrong-${at}`)).toBeNull();
    });
    await Promise.all(refused);
    expect(look.calls).toEqual([]);
    const right = { input: 'Look', history: [said], maxSteps: 2, metadata: { ticket: 1 } };
    expect(await client.run('right', right as { input: string })).toMatchObject({ result: 'Seen.', stepsLimit: 2 });
    expect(await client.recording('right')).toContain('Hello');
  });

  test('a word on a call that does not wait is not taken, and one that was answered is not asked again', async () => {
    const { options } = mailer({ model: modelByTurn(calls(['mail']), calls(['mail', { to: 'Bo' }]), 'Mailed.') });
    const { client, endpoint } = await on(options);
    await using _ = endpoint;
    await client.start('twice', 'Mail');
    const callId = await waitingCall(client, 'twice', 'mail');
    expect(await client.send('twice', { type: 'approve', callId: 'another' })).toBe(false);
    const both = [1, 2].map(() => client.send('twice', { type: 'approve', callId }));
    expect((await Promise.all(both)).filter(Boolean)).toEqual([true]);
    const next = await until(async () => (await client.state('twice'))?.pending.find((call) => call.callId !== callId));
    expect(await client.send('twice', { type: 'approve', callId: next.callId })).toBe(true);
    expect(await client.result('twice')).toMatchObject({ result: 'Mailed.' });
  });

  test('a message reaches the next turn of the model, once, whatever its sender repeats', async () => {
    const { options } = mailer({
      maxSteers: 1,
      model: modelByTurn(calls(['mail']), ({ messages }) => ({
        content: `Heard ${messages.filter((one) => JSON.stringify(one).includes('In French')).length}.`,
      })),
    });
    const { client, endpoint } = await on(options);
    await using _ = endpoint;
    await client.start('steered', 'Mail');
    const callId = await waitingCall(client, 'steered', 'mail');
    const message = { type: 'steer', text: 'In French, please.', id: 'm1' } as const;
    expect(await client.send('steered', message)).toBe(true);
    // Again, as a client does that got no answer: it was taken, and is one message.
    expect(await client.send('steered', message)).toBe(true);
    expect(await client.send('steered', { type: 'queue', text: 'And then rest.', id: 'm2' })).toBe(true);
    const tooMany = { type: 'steer', text: 'No, in Latin.', id: 'm3' } as const;
    expect([await client.send('steered', tooMany), await client.send('steered', tooMany)]).toEqual([false, false]);
    expect(await client.send('steered', { type: 'approve', callId: 'none' })).toBe(false);
    expect(await client.send('steered', { type: 'approve', callId })).toBe(true);
    expect(await client.send('steered', { type: 'approve', callId })).toBe(false);
    const result = await client.result('steered');
    expect(result).toMatchObject({ result: 'Heard 1.', undelivered: [{ id: 'm2', kind: 'queue' }] });
    // What was taken was taken, although the run is over.
    const queued = { type: 'queue', text: 'And then rest.', id: 'm2' } as const;
    for (const taken of [message, queued]) expect(await client.send('steered', taken)).toBe(true);
    const fresh = { type: 'steer', text: 'In French, please.' } as const;
    for (const late of [tooMany, fresh, { ...fresh, id: 'm4' }]) expect(await client.send('steered', late)).toBe(false);
  });

  test('what is said at the very end is taken or not, and whoever said it hears which', async () => {
    const { options } = mailer({ model: modelByTurn(calls(['look']), calls(['look', { again: 1 }]), 'Seen.') });
    const { client, endpoint } = await on(options);
    await using _ = endpoint;
    const running = client.run('ending', 'Look');
    await until(() => client.state('ending'));
    const sent: Promise<readonly [id: string, taken: boolean]>[] = [];
    for (let at = 0; at < 40; at += 1) {
      const id = `m-${at}`;
      sent.push(client.send('ending', { type: 'queue', text: `Said ${at}`, id }).then((taken) => [id, taken]));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const { undelivered = [] } = await running;
    const answers = await Promise.all(sent);
    const taken = answers.flatMap(([id, isTaken]) => (isTaken ? [id] : []));
    expect(new Set(undelivered.map(({ id }) => id))).toEqual(new Set(taken));
    expect(taken.length).toBeLessThan(40);
  });

  test('a run that is cancelled ends so: by a message, and by the engine', async () => {
    const { options, mail } = mailer();
    const { client, endpoint } = await on(options);
    await using _ = endpoint;
    for (const runId of ['by-message', 'by-engine']) {
      await client.start(runId, 'Mail Ada');
      await waitingCall(client, runId, 'mail');
    }
    expect(await client.send('by-message', { type: 'cancel', reason: 'enough' })).toBe(true);
    await server.cancel('mailer', 'by-engine');
    expect(await client.result('by-message')).toMatchObject({ status: 'cancelled', reason: 'cancelled' });
    expect(await client.result('by-engine')).toMatchObject({ status: 'cancelled', reason: 'cancelled' });
    expect(await client.recording('by-engine')).toContain('run.cancelled');
    expect(mail.calls).toEqual([]);
  });

  test('a cancel aborts a tool that is at work', async () => {
    const aborted = Promise.withResolvers<string>();
    const { options } = mailer({
      model: modelByTurn(calls(['wait']), 'Done.'),
      tools: [
        fakeTool('wait', [
          (_args, { signal }) =>
            new Promise((resolve) => signal.addEventListener('abort', () => resolve(aborted.resolve('aborted')))),
        ]),
      ],
    });
    const { client, endpoint } = await on(options);
    await using _ = endpoint;
    await client.start('at-work', 'Wait');
    await until(async () => (await client.recording('at-work'))?.includes('callTool'));
    expect(await client.send('at-work', { type: 'cancel' })).toBe(true);
    expect(await client.result('at-work')).toMatchObject({ status: 'cancelled' });
    expect(await aborted.promise).toBe('aborted');
  });

  test('timers are the engine’s: the time for an approval runs out', async () => {
    const { options, mail } = mailer({ timeouts: { approvalMs: 300 } });
    const { agent, client, endpoint } = await on(options);
    await using _ = endpoint;
    const result = await client.run('too-late', 'Mail Ada');
    expect(result).toMatchObject({ status: 'answered', result: 'Mailed.' });
    expect(result.durationMs).toBeGreaterThanOrEqual(300);
    expect(mail.calls).toEqual([]);
    const recording = (await client.recording('too-late')) ?? '';
    expect(recording).toContain('"t":"timer"');
    expect((await replay(recording, agent)).durationMs).toBe(result.durationMs);
  });

  test('a child agent works in the same invocation, and its questions are answered there', async () => {
    const dig = fakeTool('dig', ['gold'], { policy: 'confirm' });
    const digger = createAgent({
      name: 'digger',
      description: 'Digs.',
      model: modelByTurn(calls(['dig']), 'Gold.'),
      tools: [dig],
      silent: true,
    });
    const { agent, client, endpoint } = await on({
      name: 'parent',
      children: [digger],
      model: modelByTurn(calls(['digger', { task: 'Dig here' }]), 'Found gold.'),
    });
    await using _ = endpoint;
    await client.start('family', 'Find gold');
    const callId = await waitingCall(client, 'family', 'dig');
    expect(await client.send('family', { type: 'approve', callId })).toBe(true);
    expect(await client.result('family')).toMatchObject({ result: 'Found gold.' });
    expect(dig.calls).toHaveLength(1);
    expect(await replay((await client.recording('family')) ?? '', agent)).toMatchObject({ result: 'Found gold.' });
  });

  test('a run is suspended while it waits, costs nothing then, and continues with the approval', async () => {
    const seen: string[] = [];
    const { options } = mailer({ onEvent: (event) => seen.push(`${event.type}${event.replayed ? ' replayed' : ''}`) });
    const { client, endpoint } = await on({ ...options, name: 'sleeper' }, { suspendAfterMs: 200, abortAfterMs: 1000 });
    await using _ = endpoint;
    await client.start('sleeps', 'Mail Ada');
    const callId = await waitingCall(client, 'sleeps', 'mail');
    await server.suspended('sleeper', 'sleeps');
    expect(await client.send('sleeps', { type: 'approve', callId })).toBe(true);
    expect(await client.result('sleeps')).toMatchObject({ result: 'Mailed.' });
    // The next attempt heard of the past as of the past.
    expect(seen).toContain('approval.requested replayed');
    expect(seen.filter((event) => event === 'run.finished')).toHaveLength(2);
    expect(seen.filter((event) => event === 'approval.requested')).toHaveLength(1);
    expect(seen.filter((event) => event === 'tool.finished')).toHaveLength(2);
  });

  test('what a model streamed is recorded once, with its reply, whatever attempt received it', async () => {
    const { options } = mailer();
    const key = `sk-${'t'.repeat(30)}`;
    const model = modelByTurn(calls(['look'], ['mail', { to: 'Ada' }]), 'Mailed.');
    const streams: Model = {
      id: 'streams',
      complete: async (request, io) => {
        io.onToken?.({ kind: 'reasoning', text: `I know ${key}.` });
        return model.complete(request, io);
      },
    };
    const given: AgentOptions = { ...options, name: 'streamer', model: streams, streaming: true, recordTokens: true };
    const { agent, client, endpoint } = await on(given, { suspendAfterMs: 200, abortAfterMs: 1000 });
    await using _ = endpoint;
    await client.start('streamed', 'Mail Ada');
    const callId = await waitingCall(client, 'streamed', 'mail');
    await server.suspended('streamer', 'streamed');
    expect(await client.send('streamed', { type: 'approve', callId })).toBe(true);
    expect(await client.result('streamed')).toMatchObject({ result: 'Mailed.' });
    const text = (await client.recording('streamed')) ?? '';
    expect(text).not.toContain(key);
    const { lines } = readRecording(text);
    expect(lines.flatMap((line) => (line.t === 'note' ? [line.note] : []))).toEqual(
      [1, 2].map(() => ({ note: 'tokens', reasoning: 'I know «secret:1».' })),
    );
    const ats = lines.map(({ at }) => Number(at));
    expect(ats).toEqual(ats.toSorted((a, b) => a - b));
    const again = replay(text, agent);
    expect(await again).toMatchObject({ result: 'Mailed.' });
    expect(again.recording()).toBe(text);
  });

  test('on an endpoint that only answers requests a run does all but `once` tools, which never start', async () => {
    const { options, mail, look } = mailer();
    const service = restateAgent(createAgent({ silent: true, confirm: 'wait', ...options, name: 'answering' }));
    const client = clientOf(server, service);
    await using _ = await served(server, [service], { bidirectional: false });
    await client.start('answering', 'Mail Ada');
    const callId = await waitingCall(client, 'answering', 'mail');
    expect(await client.send('answering', { type: 'approve', callId })).toBe(true);
    const result = await client.result('answering');
    expect(result).toMatchObject({ result: 'Mailed.', errorHistory: [{ tool: 'mail' }] });
    expect(await client.recording('answering')).toContain('unknown-outcome');
    expect([look.calls.length, mail.calls.length]).toEqual([1, 0]);
  });

  test('secrets are marks in all that Restate keeps, and tools get them', async () => {
    const use = fakeTool('use', [({ key }) => `used ${String(key)}`], { effects: 'idempotent' });
    const { client, endpoint } = await on({
      name: 'keeper',
      secrets: ['hunter2-hunter2'],
      instructions: 'The key is hunter2-hunter2.',
      tools: [use],
      model: modelByTurn(calls(['use', { key: '«secret:1»' }]), 'Used it.'),
    });
    await using _ = endpoint;
    expect(await client.run('secret', 'Use hunter2-hunter2')).toMatchObject({ result: 'Used it.' });
    expect(use.calls).toEqual([{ key: 'hunter2-hunter2' }]);
    expect(await client.recording('secret')).not.toContain('hunter2');
  });

  test('what is sent to a run is recorded without its secrets', async () => {
    const model = modelByTurn(calls(['mail']), 'Mailed.');
    const { client, endpoint } = await on(mailer({ secrets: ['hunter2-hunter2'], model }).options);
    await using _ = endpoint;
    await client.start('told', 'Mail');
    const callId = await waitingCall(client, 'told', 'mail');
    await client.send('told', { type: 'steer', text: 'Say hunter2-hunter2.', id: 'm1' });
    await client.send('told', { type: 'approve', callId });
    expect(await client.result('told')).toMatchObject({ result: 'Mailed.' });
    const recording = (await client.recording('told')) ?? '';
    expect(recording).toMatch(/Say «secret:\d+»\./);
    expect(recording).not.toContain('hunter2');
  });

  test('a secret that is found by another process after a suspension never gets the mark of one that was found before', async () => {
    const key = (letter: string): string => `sk-${letter.repeat(24)}`;
    const port = await freePort();
    // Another agent knows as little as another process.
    const serving = async () => {
      const find = fakeTool('find', [({ which }) => key(String(which))], { effects: 'idempotent' });
      const agent: Agent = createAgent({
        name: 'finder',
        tools: [find, fakeTool('wait', ['waited'], { policy: 'confirm' })],
        model: modelByTurn(calls(['find', { which: 'a' }]), calls(['wait']), calls(['find', { which: 'b' }]), 'Found.'),
        silent: true,
        confirm: 'wait',
      });
      const service = restateAgent(agent, { suspendAfterMs: 200, abortAfterMs: 1000 });
      return { client: clientOf(server, service), endpoint: await served(server, [service], { port }) };
    };
    const { client, endpoint } = await serving();
    await client.start('found', 'Find them');
    const callId = await waitingCall(client, 'found', 'wait');
    await server.suspended('finder', 'found');
    await endpoint[Symbol.asyncDispose]();
    await using _ = (await serving()).endpoint;
    await client.send('found', { type: 'approve', callId });
    expect(await client.result('found')).toMatchObject({ result: 'Found.' });
    const recording = (await client.recording('found')) ?? '';
    expect(recording).not.toContain('sk-');
    expect(recording.match(/"data":"«secret:\d+»"/g)).toEqual(['"data":"«secret:1»"', '"data":"«secret:2»"']);
  });

  test('any number of runs of one agent go on at once, each with its own context', async () => {
    const who = fakeTool('who', [(_args, { context }) => String(context)], { effects: 'none' });
    const { client, endpoint } = await on(
      {
        name: 'crowd',
        tools: [who],
        model: modelByTurn(calls(['who']), ({ messages }) => ({ content: JSON.stringify(messages.at(-1)?.content) })),
      },
      { context: ({ runId }: { readonly runId: string }) => `caller of ${runId}` },
    );
    await using _ = endpoint;
    const ids = Array.from({ length: 12 }, (_none, index) => `crowd-${index}`);
    const results = await Promise.all(
      ids.map((runId) => client.run(runId, { input: 'Who?', metadata: { of: runId } })),
    );
    expect(results.map(({ result }) => /caller of crowd-\d+/.exec(result)?.[0])).toEqual(
      ids.map((runId) => `caller of ${runId}`),
    );
  });

  test(
    'large results meet no limit of the engine, and are there when a suspended run continues',
    async () => {
      const turns = cases(8, 200);
      const text = (number: number): string => `${number}:`.padEnd(512 * 1024, 'x');
      const fetched = fakeTool('fetch', [({ number }) => text(Number(number))], { effects: 'idempotent' });
      const { agent, client, endpoint } = await on(
        {
          name: 'hoarder',
          tools: [fetched, fakeTool('stop', ['stopped'], { policy: 'confirm' })],
          maxSteps: turns + 2,
          maxToolResultChars: 1e7,
          limits: { resultBytes: 1e7 },
          model: modelByTurn(
            ...Array.from({ length: turns }, (_none, index) => calls(['fetch', { number: index }])),
            calls(['stop']),
            'Fetched.',
          ),
        },
        { suspendAfterMs: 1000, abortAfterMs: 60_000 },
      );
      await using _ = endpoint;
      await client.start('large', 'Fetch it all');
      const callId = await waitingCall(client, 'large', 'stop', 600_000);
      await server.suspended('hoarder', 'large');
      expect(await client.send('large', { type: 'approve', callId })).toBe(true);
      expect(await client.result('large')).toMatchObject({ result: 'Fetched.', stepsTaken: turns + 2 });
      expect(fetched.calls).toHaveLength(turns);
      const recording = (await client.recording('large')) ?? '';
      // Each result stands there once.
      expect(recording.length).toBeGreaterThan(turns * 512 * 1024);
      expect(recording.length).toBeLessThan(turns * 530 * 1024 + 100_000);
      const again = replay(recording, agent);
      expect(await again).toMatchObject({ result: 'Fetched.' });
      expect(again.recording()).toBe(recording);
    },
    cases(30_000, 1_200_000),
  );

  test('a run is followed while it goes on, like one of a journal', async () => {
    const { options } = mailer();
    const { client, endpoint } = await on(options);
    await using _ = endpoint;
    await client.start('followed', 'Mail Ada');
    await waitingCall(client, 'followed', 'mail');
    const kinds: string[] = [];
    const moves: unknown[] = [];
    const player = new RecordingPlayer({
      onMicrostep: ({ transition }) => transition !== null && moves.push(transition),
    });
    for await (const lines of followRun(client, 'followed', { signal: AbortSignal.timeout(60_000), everyMs: 20 })) {
      kinds.push(...lines.map(({ line }) => line.t));
      for (const { line } of lines) player.feed(line);
      const [call] = (await client.state('followed'))?.pending ?? [];
      if (call !== undefined) await client.send('followed', { type: 'approve', callId: call.callId });
    }
    expect(kinds[0]).toBe('run');
    expect(kinds.at(-1)).toBe('end');
    // What the inspector shows.
    expect(player.problem).toBeNull();
    expect(moves).toEqual(transitions((await client.recording('followed')) ?? ''));
  });

  test('Restate’s own client reaches the same handlers', async () => {
    const { options } = mailer();
    const service = restateAgent(createAgent({ silent: true, confirm: 'wait', ...options }));
    await using _ = await served(server, [service]);
    const run = connect({ url: server.ingress }).workflowClient<typeof service>({ name: 'mailer' }, 'by-client');
    await run.workflowSubmit({ input: 'Mail Ada', metadata: { ticket: 17 } });
    const [call] = await until(async () => {
      const { pending = [] } = (await run.state()) ?? {};
      return pending.length > 0 && pending;
    });
    expect(await run.send({ type: 'approve', callId: call?.callId ?? '', args: { to: 'Bo' } })).toBe(true);
    expect(await run.workflowAttach()).toMatchObject({ result: 'Mailed.' });
    const page = await run.recording({});
    expect(page?.next).toBeNull();
    expect(page?.text).toContain('"metadata":{"ticket":17}');
  });

  test('a run is suspended a minute after the longest time limit of its agent, and lost attempts are repeated soon, unless it says otherwise', () => {
    const timeouts = { connectMs: 1000, responseMs: 2000, toolMs: 3000 };
    const optionsOf = (more: AgentOptions, given = {}): object =>
      Reflect.get(restateAgent(createAgent({ name: 'mailer', silent: true, timeouts, ...more }), given), 'options');
    expect(optionsOf({})).toMatchObject({
      inactivityTimeout: 63_000,
      abortTimeout: 3_600_000,
      retryPolicy: { initialInterval: 100, maxInterval: 10_000 },
    });
    const tools = [fakeTool('quick'), fakeTool('slow', [], { timeoutMs: 400_000 })];
    expect(optionsOf({ tools })).toMatchObject({ inactivityTimeout: 460_000 });
    const retry = { maxAttempts: 3, firstWaitMs: 1, longestWaitMs: 2 };
    expect(optionsOf({ tools }, { suspendAfterMs: 5, abortAfterMs: 6, keepMs: 7, retry })).toMatchObject({
      inactivityTimeout: 5,
      abortTimeout: 6,
      workflowRetention: 7,
      retryPolicy: { maxAttempts: 3, onMaxAttempts: 'pause', initialInterval: 1, maxInterval: 2 },
    });
  });

  test('a wrong option is refused by name', () => {
    const agent = createAgent({ name: 'mailer', model: modelByTurn('Hi.'), silent: true });
    const wrong: object = { keepsMs: 5 };
    expect(() => restateAgent(agent, wrong)).toThrow("there is no option 'keepsMs'. Did you mean 'keepMs'?");
    expect(() => restateClient({ ...wrong, url: '', name: '' })).toThrow('keepsMs');
  });
});
