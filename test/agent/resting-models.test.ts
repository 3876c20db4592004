import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Model } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { chatModel } from '../../src/models/chat/chat-model.ts';
import { recover } from '../../src/recovery/recover.ts';
import { startModelServer } from '../support/model-server.ts';
import { eventsOf } from './agent-on-server.ts';
import { agentOf, asked, fails, model } from './listed-models.ts';

describe('a model that has failed rests', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 10_000_000 }));
  afterEach(() => void vi.useRealTimers());

  test('after two failures in a row, until a pause is over and one request has gone through', async () => {
    const first = model('first', [fails('server-error'), fails('server-error'), fails('server-error'), 'I am back.']);
    const second = model('second', []);
    const agent = agentOf([first, second]);
    const ask = async () => (await agent.run('Go')).result;
    expect([await ask(), await ask(), await ask()]).toEqual(['over', 'over', 'over']);
    expect(asked(first, second)).toEqual([2, 3]);
    vi.advanceTimersByTime(30_001);
    expect(await ask()).toBe('over');
    expect(await ask()).toBe('over');
    expect(asked(first, second)).toEqual([3, 5]);
    vi.advanceTimersByTime(30_001);
    expect([await ask(), await ask()]).toEqual(['I am back.', 'over']);
    expect(asked(first, second)).toEqual([5, 5]);
  });

  test('no longer, however the clock of the system is set meanwhile', async () => {
    const first = model('first', [fails('rate-limited', { retryAfterMs: 20_000 }), 'I am back.']);
    const agent = agentOf([first, model('second', [])]);
    expect((await agent.run('Go')).result).toBe('over');
    vi.setSystemTime(20_000_000);
    expect((await agent.run('Go')).result).toBe('over');
    vi.setSystemTime(1_000_000);
    vi.advanceTimersByTime(20_001);
    expect((await agent.run('Go')).result).toBe('I am back.');
  });

  test('which the run is told as a failure of its own, so that a replay needs no memory of it', async () => {
    const first = model('first', [fails('rate-limited', { retryAfterMs: 20_000 })]);
    const second = model('second', ['one', 'two']);
    const agent = agentOf([first, second]);
    await agent.run('Go');
    const run = agent.run('Go on');
    const events = await eventsOf(run);
    expect((await run).result).toBe('two');
    expect(asked(first, second)).toEqual([1, 2]);
    expect(events.find(({ type }) => type === 'model.retrying')).toMatchObject({
      attempt: 0,
      error: { code: 'circuit-open' },
      next: 'second',
    });
    expect(events.find(({ type }) => type === 'model.replied')).toMatchObject({ attempts: 1 });
    vi.advanceTimersByTime(8_000_000);
    const again = replay(run.recording(), agentOf([model('first', []), model('second', [])]));
    expect((await again).result).toBe('two');
    expect(again.transitions()).toEqual(run.transitions());
  });

  test('and is asked all the same where no other is left', async () => {
    const [first, second] = ['first', 'second'].map((id) =>
      model(id, [fails('rate-limited', { retryAfterMs: 90_000 })]),
    );
    if (first === undefined || second === undefined) throw new Error('two models');
    const agent = agentOf([first, second]);
    expect(await agent.run('Go')).toMatchObject({ status: 'failed' });
    expect(await agent.run('Go')).toMatchObject({ result: 'over' });
    expect(asked(first, second)).toEqual([2, 1]);
  });

  test('at once, without a pause before it, and as an attempt of its own beside that of the one that failed', async () => {
    const first = model('first', [fails('server-error'), fails('server-error')]);
    const second = model('second', [fails('rate-limited', { retryAfterMs: 90_000 })]);
    const agent = agentOf([first, second]);
    expect(await agent.run('Go')).toMatchObject({ status: 'failed' });
    const run = agent.run('Go');
    expect(await run).toMatchObject({ result: 'over' });
    expect(asked(first, second)).toEqual([2, 2]);
    expect(run.recording()).not.toContain('"name":"timer"');
  });

  test('for ten minutes at most, and whatever the author says of failures', async () => {
    const first = model('first', [fails('rate-limited', { retryAfterMs: 50_000_000 }), 'Hi.']);
    const second = model('second', []);
    await agentOf([first, second]).run('Go');
    const retry = { retryable: () => false };
    expect(await agentOf([first, second], { retry }).run('Go')).toMatchObject({ result: 'over' });
    expect(asked(first, second)).toEqual([1, 2]);
    vi.advanceTimersByTime(600_001);
    expect(await agentOf([first, second]).run('Go')).toMatchObject({ result: 'Hi.' });
  });

  test('of several requests at once only one tries it after the pause; one that is stopped leaves it as it was', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = model('first', [fails('rate-limited', { retryAfterMs: 10_000 })]);
    const slow: Model = {
      id: 'first',
      complete: async (request, io) => {
        if (first.requests.length > 0) await Promise.race([held, aborted(io.signal)]);
        return first.complete(request, io);
      },
    };
    const second = model('second', []);
    const [one, other] = [agentOf([slow, second]), agentOf([slow, second])];
    await one.run('Go');
    vi.advanceTimersByTime(10_001);
    const stopped = one.run('Go');
    expect((await other.run('Go')).result).toBe('over');
    expect(asked(first, second)).toEqual([1, 2]);
    await stopped.cancel();
    await stopped;
    const trying = one.run('Go');
    expect((await other.run('Go')).result).toBe('over');
    expect(asked(first, second)).toEqual([1, 3]);
    release();
    await trying;
    await other.run('Go');
    expect(asked(first, second)).toEqual([3, 3]);
  });

  test('at once where the failure will last', async () => {
    const gone = model('gone', [fails('quota-exhausted'), 'Paid.']);
    const agent = agentOf([gone, model('second', [])]);
    for (let count = 0; count < 3; count++) await agent.run('Go');
    expect(gone.requests).toHaveLength(1);
    vi.advanceTimersByTime(30_001);
    expect((await agent.run('Go')).result).toBe('Paid.');
  });

  test('a request that was refused for what it is, is no reason to rest; nor is one failure, or a single model', async () => {
    const bad = () => fails('bad-request');
    const first = model('first', [bad(), bad(), bad(), fails('server-error'), 'Hi.']);
    const second = model('second', []);
    const agent = agentOf([first, second]);
    for (let count = 0; count < 4; count++) await agent.run('Go');
    expect((await agent.run('Go')).result).toBe('Hi.');
    const alone = model('alone', [fails('server-error'), fails('server-error'), fails('server-error')]);
    const lonely = agentOf([alone], { retry: { maxAttempts: 3, backoff: recover.constant(0) } });
    expect(await lonely.run('Go')).toMatchObject({ status: 'failed' });
    expect((await lonely.run('Go')).result).toBe('over');
  });
});

test('all models of one endpoint rest together, and one with another key does not', async () => {
  const busy = { status: 429, headers: { 'retry-after': '30' }, body: {} };
  const first = await startModelServer([busy, 'Hi.']);
  onTestFinished(first.close);
  const ask = async (apiKey: string): Promise<string> => {
    const at = { baseURL: first.baseURL, model: 'one', apiKey };
    const agent = createAgent({ model: [chatModel(at), model('spare', [])], silent: true, minContextSize: 0 });
    return (await agent.run('Go')).result;
  };
  expect([await ask('one key'), await ask('one key'), await ask('another')]).toEqual(['over', 'over', 'Hi.']);
  expect(first.requests).toHaveLength(2);
});

/** Rejects once the signal aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
