import { describe, expect, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { ResumeError } from '../../src/agent/options/agent-errors.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import { memoryJournal } from '../../src/journal/stores/memory.ts';
import { replay } from '../../src/journal/replay/replay.ts';
import { type FakeTool, fakeTool } from '../../src/testing/fake-tool.ts';
import { type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { calls } from '../support/replies.ts';

const EUROS = { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] } as const;
const CENTS = { type: 'object', properties: { cents: { type: 'integer' } }, required: ['cents'] } as const;
const pay = (inputSchema: typeof EUROS | typeof CENTS = EUROS) =>
  fakeTool('pay', ['paid'], { policy: 'confirm', inputSchema });
const look = () => fakeTool('look', ['seen', 'seen again'], { effects: 'none' });
const V1: AgentOptions = { name: 'payer', version: '1', instructions: 'Be brief.', silent: true, confirm: 'wait' };

/** A run of version 1 that waits for an approval; `resumed` takes it up by other code and approves. */
async function parked(options: AgentOptions = {}) {
  const journal = memoryJournal();
  const tools = [pay(), look()];
  const model = scriptedModel([calls(['look']), calls(['pay', { euros: 7 }])]);
  const { runId } = await createAgent({ ...V1, tools, ...options, journal, model }).run('Pay.', { park: true });
  const text = async () => JSON.stringify(await journal.read?.(runId));
  const agentOf = (changed: AgentOptions, replies: readonly ScriptedReply[] = ['Done.']) => {
    const next = scriptedModel(replies);
    return { model: next, agent: createAgent({ ...V1, tools, ...options, ...changed, journal, model: next }) };
  };
  const resumed = async (changed: AgentOptions, replies?: readonly ScriptedReply[]) => {
    const { agent, model: asked } = agentOf(changed, replies);
    const run = agent.resume(runId);
    for await (const event of run)
      if (event.type === 'approval.requested' && !event.replayed) break;
      else if (run.pending.length > 0) break;
    await run.approve('c2');
    const result = await run;
    const [request] = asked.requests;
    const names = (request?.tools ?? []).map(({ name }) => name).filter((name) => name !== 'make_plan');
    return { agent, run, result, prompt: request?.messages[0]?.content, names };
  };
  const refused = async (changed: AgentOptions): Promise<ResumeError> => {
    const before = await text();
    const error: unknown = await agentOf(changed, [])
      .agent.resume(runId)
      .then(null, (thrown: unknown) => thrown);
    expect(await text()).toBe(before);
    if (error instanceof ResumeError) return error;
    throw new Error('It was not refused.', { cause: error });
  };
  return { runId, journal, resumed, refused, agentOf, tools };
}

const V2: AgentOptions = { version: '2', instructions: 'Be kind.' };

describe('a run that is resumed by other code', () => {
  test('keeps its instructions, and gets the tools of now', async () => {
    const { resumed, tools } = await parked();
    const { prompt, names, result } = await resumed({ ...V2, tools: [...tools, fakeTool('smell')] });
    expect(result).toMatchObject({ status: 'answered' });
    expect(prompt).toBe('Be brief.');
    expect(names).toEqual(['pay', 'look', 'smell']);
  });

  test('takes the instructions of now with `current`, and its recording replays with the code that began it', async () => {
    const { resumed, agentOf } = await parked();
    const { prompt, run, result } = await resumed({ ...V2, onUpgrade: 'current' });
    expect([prompt, result.status]).toEqual(['Be kind.', 'answered']);
    const again = replay(run.recording(), agentOf({}).agent);
    expect(await again).toMatchObject({ status: 'answered' });
    expect(again.transitions()).toEqual(run.transitions());
  });

  test('takes them again in the code that began it, where that is back', async () => {
    const { agentOf, refused, runId } = await parked();
    const promptBy = async (changed: AgentOptions, callId: string, replies: readonly ScriptedReply[]) => {
      const { agent, model } = agentOf(changed, replies);
      await agent.approve(runId, callId);
      await agent.resume(runId, { park: true });
      return model.requests[0]?.messages[0]?.content;
    };
    const pays = (euros: number) => [calls(['pay', { euros }])];
    expect(await promptBy({ ...V2, onUpgrade: 'current' }, 'c2', pays(8))).toBe('Be kind.');
    expect((await refused({ onUpgrade: 'refuse' })).differences).toEqual(['the instructions differ']);
    expect(await promptBy({}, 'c3', pays(9))).toBe('Be kind.');
    expect(await promptBy({ onUpgrade: 'current' }, 'c4', pays(10))).toBe('Be brief.');
    expect(await promptBy({ onUpgrade: 'refuse' }, 'c5', ['Done.'])).toBe('Be brief.');
  });

  test('keeps its tools too with `recorded`, whatever becomes of those of the agent', async () => {
    const { agentOf, runId, tools } = await parked();
    const [, ...others] = tools;
    const more = { ...V2, tools: [...others, pay(CENTS), fakeTool('smell')], onUpgrade: 'recorded' } as const;
    const { agent, model } = agentOf(more, [
      () => {
        agent.tools.register(fakeTool('hear'));
        return calls(['look']);
      },
      'Done.',
    ]);
    await agent.approve(runId, 'c2');
    expect(await agent.resume(runId)).toMatchObject({ result: 'Done.' });
    expect(model.requests.map(({ messages }) => messages[0]?.content)).toEqual(['Be brief.', 'Be brief.']);
    for (const { tools: offered = [] } of model.requests)
      expect(offered.map(({ name }) => name)).toEqual(['pay', 'look', 'make_plan']);
  });

  test('keeps the tools of agents below with `recorded`, and takes over what has become stricter about them', async () => {
    const journal = memoryJournal();
    const team = (version: string, tools: FakeTool[], above: ScriptedReply[], below: ScriptedReply[]) => {
      const model = scriptedModel(below);
      const cashier = createAgent({
        name: 'cashier',
        description: 'Pays.',
        model,
        tools,
        silent: true,
        confirm: 'wait',
      });
      const how = { ...V1, version, onUpgrade: 'recorded', journal, children: [cashier] } as const;
      return { model, agent: createAgent({ ...how, model: scriptedModel(above) }) };
    };
    const asks = [calls(['cashier', { task: 'Pay.' }]), calls(['pay', { euros: 7 }])];
    const { runId } = await team('1', [pay(), look()], asks.slice(0, 1), asks.slice(1)).agent.run('Pay.', {
      park: true,
    });
    const denied = fakeTool('look', ['seen'], { effects: 'none', policy: 'deny' });
    const { agent, model } = team('2', [denied, pay(CENTS), fakeTool('smell')], ['Done.'], [calls(['look']), 'Paid.']);
    const run = agent.resume(runId);
    for await (const event of run) if (event.type === 'approval.requested') break;
    await run.approve(run.pending[0]?.callId ?? '');
    expect(await run).toMatchObject({ status: 'answered', result: 'Done.' });
    const [first, second] = model.requests;
    expect(first?.tools?.map(({ name }) => name)).toEqual(['pay', 'make_plan']);
    expect(denied.calls).toEqual([]);
    expect(second?.messages.at(-1)?.content).toContain("Tool 'look' is denied by policy");
  });

  test('asks before a tool that it began with as `confirm`, however often other code allows that', async () => {
    const { agentOf, runId } = await parked();
    const laxer = fakeTool('pay', ['paid'], { policy: 'allow', inputSchema: EUROS });
    const tools = [laxer, look()];
    expect(await agentOf({ tools }).agent.resume(runId, { park: true })).toMatchObject({ reason: 'parked' });
    const { agent } = agentOf({ ...V2, tools, onUpgrade: 'recorded' }, [calls(['pay', { euros: 9 }]), 'Done.']);
    const run = agent.resume(runId, { park: true });
    await run.approve('c2');
    expect(await run).toMatchObject({ reason: 'parked', pending: [{ callId: 'c3', args: { euros: 9 } }] });
    expect(laxer.calls).toEqual([{ euros: 7 }]);
  });

  test('is told first that another agent has begun it, as one may have with which its conversation is shared', async () => {
    const { refused } = await parked();
    const { differences, message } = await refused({ name: 'clerk', tools: [look()] });
    expect(differences[0]).toBe("it is a run of the agent 'payer', and this is 'clerk'");
    expect(message).toContain("cannot continue with this one: it is a run of the agent 'payer'");
  });

  test('is refused with `refuse` for any difference, with all of them, and the old code still finishes it', async () => {
    const { refused, resumed, runId } = await parked();
    const error = await refused({ ...V2, onUpgrade: 'refuse' });
    expect(error).toMatchObject({ code: 'upgrade-refused', runId });
    expect(error.differences).toEqual(["version '1' is '2' now", 'the instructions differ']);
    expect(error.message).toContain('the instructions differ');
    expect((await resumed({ onUpgrade: 'refuse' })).result).toMatchObject({ status: 'answered' });
  });

  test.each([
    ['is gone', () => [look()], /call c2 of the tool 'pay' is open, and the tool is gone/],
    ['takes others', () => [pay(CENTS), look()], /its schema no longer takes the recorded arguments/],
  ])('is refused where the tool of an open call %s, unless somebody says otherwise', async (_what, now, says) => {
    const { refused, agentOf, runId } = await parked();
    expect((await refused({ tools: now() })).differences[0]).toMatch(says);
    const { agent } = agentOf({ tools: now(), onUpgrade: 'current' });
    const run = agent.resume(runId);
    expect(await run.cancel('enough')).toBe(true);
    expect(await run).toMatchObject({ status: 'cancelled' });
  });

  test.each(['current', 'recorded'] as const)(
    'gives no tool arguments that it does not take, with `%s`',
    async (onUpgrade) => {
      const { resumed } = await parked();
      const tools = [pay(CENTS), look()];
      const { result, run } = await resumed({ tools, onUpgrade });
      expect(result).toMatchObject({ status: 'answered' });
      expect(tools[0]?.calls).toEqual([]);
      expect(run.recording()).toContain(
        "'pay' was changed since this call was made, and no longer takes its arguments: /cents",
      );
      expect(
        await replay(run.recording(), createAgent({ ...V1, tools: [pay(), look()], model: scriptedModel([]) })),
      ).toEqual(result);
    },
  );

  test('runs an open call that a person has edited to fit the tool then and now', async () => {
    const { agentOf, runId } = await parked();
    const tools = [pay(CENTS), look()];
    const { agent } = agentOf({ tools, onUpgrade: 'current' });
    const run = agent.resume(runId);
    await expect.poll(() => run.pending).toHaveLength(1);
    await run.approve('c2', { args: { euros: 7, cents: 700 } });
    expect(await run).toMatchObject({ status: 'answered' });
    expect(tools[0]?.calls).toEqual([{ euros: 7, cents: 700 }]);
  });

  test('is refused where the tool of an open call of an agent below is gone, and says whose it is; a changed one is not called', async () => {
    const journal = memoryJournal();
    const asks = [calls(['cashier', { task: 'Pay.' }]), calls(['pay', { euros: 7 }])];
    const root = (
      tools: FakeTool[],
      [above, below]: ScriptedReply[] = ['Done.', 'Paid.'],
      own: Pick<AgentOptions, 'onUpgrade'> = {},
    ) => {
      const model = scriptedModel(below === undefined ? [] : [below]);
      const cashier = { name: 'cashier', description: 'Pays.', model, tools, silent: true, confirm: 'wait' } as const;
      const children = [createAgent(cashier)];
      return createAgent({
        ...V1,
        model: scriptedModel(above === undefined ? [] : [above]),
        journal,
        children,
        ...own,
      });
    };
    const { runId } = await root([pay()], asks).run('Pay.', { park: true });
    const error: unknown = await root([look()])
      .resume(runId)
      .then(null, (thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'upgrade-refused' });
    expect(String(error)).toMatch(
      /of the tool 'pay' is open, and the tool is gone.*agent 'cashier': tool 'pay' is gone/,
    );
    const approved = async (agent: ReturnType<typeof root>, id: string) => {
      const run = agent.resume(id);
      await expect.poll(() => run.pending).toHaveLength(1);
      await run.approve(run.pending[0]?.callId ?? '');
      expect(await run).toMatchObject({ status: 'answered' });
    };
    const [kept, changed] = [pay(), pay(CENTS)];
    await approved(root([kept, look()]), runId);
    expect(kept.calls).toEqual([{ euros: 7 }]);
    const { runId: next } = await root([pay()], asks).run('Pay.', { park: true });
    await approved(root([changed], undefined, { onUpgrade: 'current' }), next);
    expect(changed.calls).toEqual([]);
  });

  test('goes on where nothing but what an MCP server offers is different, even with `refuse`', async () => {
    const { resumed } = await parked({ mcpServers: { lab: hostileEntry() } });
    const { result, names } = await resumed({ mcpServers: {}, onUpgrade: 'refuse' });
    expect(result).toMatchObject({ status: 'answered' });
    expect(names).toEqual(['pay', 'look']);
  });

  test('goes on where an agent below has lost an MCP server, and with an open call of one that is not there', async () => {
    const clerk = (mcpServers: AgentOptions['mcpServers'] = {}) =>
      createAgent({ name: 'clerk', description: 'Files.', model: scriptedModel([]), mcpServers, silent: true });
    const below = await parked({ children: [clerk({ lab: hostileEntry() })] });
    expect((await below.resumed({ children: [clerk()], onUpgrade: 'refuse' })).result.status).toBe('answered');

    const journal = memoryJournal();
    const asking = { ...V1, journal, defaultPolicy: 'confirm' } as const;
    const first = createAgent({
      ...asking,
      mcpServers: { lab: hostileEntry() },
      model: scriptedModel([calls(['lab_echo', { say: 'yes' }])]),
    });
    const { runId, reason } = await first.run('Say yes.', { park: true });
    expect(reason).toBe('parked');
    const later = createAgent({ ...asking, tools: [look()], model: scriptedModel(['Unsaid.']) });
    await later.approve(runId, 'c1');
    expect(await later.resume(runId)).toMatchObject({ result: 'Unsaid.', errorHistory: [{ tool: 'lab_echo' }] });
  });

  test('is refused where the tool of an open call two agents below is gone', async () => {
    const journal = memoryJournal();
    const common = { silent: true, confirm: 'wait', description: 'Helps.' } as const;
    const root = (tools: FakeTool[], replies: readonly ScriptedReply[] = []) => {
      const [above, between, below] = replies.map((reply) => scriptedModel([reply]));
      const model = scriptedModel([]);
      const cashier = createAgent({ ...common, name: 'cashier', tools, model: below ?? model });
      const office = createAgent({ ...common, name: 'office', children: [cashier], model: between ?? model });
      return createAgent({ ...V1, journal, children: [office], model: above ?? model });
    };
    const asks = [
      calls(['office', { task: 'Pay.' }]),
      calls(['cashier', { task: 'Pay.' }]),
      calls(['pay', { euros: 7 }]),
    ];
    const { runId } = await root([pay()], asks).run('Pay.', { park: true });
    await expect(root([look()]).resume(runId)).rejects.toThrow("of the tool 'pay' is open, and the tool is gone");
  });

  test('is ended by any code', async () => {
    const { runId, agentOf, journal } = await parked();
    const { agent } = agentOf({ ...V2, tools: [], onUpgrade: 'refuse' });
    expect(await agent.cancel(runId, 'enough')).toBe(true);
    expect((await journal.list?.({}))?.[0]).toMatchObject({ state: 'ended', status: 'cancelled' });
  });

  test('goes on without a question where nothing differs', async () => {
    const { resumed } = await parked();
    const onUpgrade = (): never => {
      throw new Error('It was asked.');
    };
    expect((await resumed({ onUpgrade })).result).toMatchObject({ status: 'answered' });
  });

  test('is decided by a function, which is told what differs', async () => {
    const { resumed, refused, runId, agentOf } = await parked();
    const asked: unknown[] = [];
    const saying = (choice: unknown) => async (difference: object) => {
      asked.push(difference);
      return choice as 'refuse';
    };
    expect(await refused({ ...V2, onUpgrade: saying('refuse') })).toMatchObject({ code: 'upgrade-refused' });
    expect(asked).toEqual([
      {
        runId,
        version: { recorded: '1', current: '2' },
        differences: ["version '1' is '2' now", 'the instructions differ'],
        fits: true,
      },
    ]);
    const wrong = agentOf({ ...V2, onUpgrade: saying('perhaps') }).agent.resume(runId);
    const message = expect.stringContaining("onUpgrade must return 'refuse', 'recorded' or 'current'");
    await expect(wrong).rejects.toMatchObject({ code: 'wrong-option', message });
    expect((await resumed({ ...V2, onUpgrade: saying('current') })).prompt).toBe('Be kind.');
  });

  test('that is refused is told so by `wake` and `resumeOrphans`, and stays', async () => {
    const { agentOf, runId, journal } = await parked();
    const { agent } = agentOf({ ...V2, onUpgrade: 'refuse' });
    await createAgent({ ...V1, model: scriptedModel([]), journal, tools: [pay(), look()] }).approve(runId, 'c2');
    expect(await agent.wake()).toMatchObject([{ runId, result: null, error: { code: 'upgrade-refused' } }]);
    expect((await journal.list?.({}))?.[0]?.state).not.toBe('ended');
  });
});

describe('a run whose prompt is made by code', () => {
  const says = (what: string) => ({
    instructions: ({ state }: { state: { step: number } }) => `${what} ${state.step}.`,
  });

  test('asks the code of now while the version is the same', async () => {
    const { resumed } = await parked(says('Old'));
    expect((await resumed(says('New'))).prompt).toBe('New 3.');
    const other = await parked(says('Old'));
    const more = { ...says('New'), tools: [...other.tools, fakeTool('smell')] };
    expect((await other.resumed(more)).prompt).toBe('New 3.');
  });

  test('keeps what the old code returned last where the version is another', async () => {
    const { resumed, agentOf, journal } = await parked(says('Old'));
    const { prompt, run } = await resumed({ ...says('New'), version: '2' }, [calls(['look']), 'Done.']);
    expect(prompt).toBe('Old 2.');
    expect(run.recording()).not.toContain('New');
    const again = replay(run.recording(), agentOf({ ...says('New'), version: '2' }).agent);
    await again;
    expect(again.transitions()).toEqual(run.transitions());
    expect(await journal.list?.({})).toHaveLength(1);
  });

  test('asks the code of now with `current`', async () => {
    const { resumed } = await parked(says('Old'));
    expect((await resumed({ ...says('New'), version: '2', onUpgrade: 'current' })).prompt).toBe('New 3.');
  });

  test('becomes one with a text, and the other way round, with `current`', async () => {
    const byCode = await (await parked(says('Old'))).resumed({ ...V2, onUpgrade: 'current' });
    const byText = await (await parked()).resumed({ ...says('New'), onUpgrade: 'current' });
    expect([byCode.prompt, byText.prompt]).toEqual(['Be kind.', 'New 3.']);
    for (const { agent, run } of [byCode, byText]) {
      const again = replay(run.recording(), agent, { allow: ['prompt'] });
      expect(await again).toMatchObject({ status: 'answered' });
      expect(again.transitions()).toEqual(run.transitions());
      await expect(replay(run.recording(), agent)).rejects.toMatchObject({ code: 'replay-divergence' });
    }
    const kept = await parked();
    expect((await kept.resumed({ ...says('New') })).prompt).toBe('Be brief.');
  });

  test('that other code has kept or replaced is made again by its own with `current`, and stays without', async () => {
    for (const onUpgrade of ['recorded', 'current'] as const) {
      const { agentOf, runId } = await parked(says('Old'));
      const promptBy = async (changed: AgentOptions, callId: string, reply: ScriptedReply) => {
        const { agent, model } = agentOf({ ...says('Old'), ...changed }, [reply]);
        await agent.approve(runId, callId);
        await agent.resume(runId, { park: true });
        return model.requests[0]?.messages[0]?.content;
      };
      const given = onUpgrade === 'recorded' ? 'Old 2.' : 'Be kind.';
      expect(await promptBy({ ...V2, onUpgrade }, 'c2', calls(['pay', { euros: 8 }]))).toBe(given);
      expect(await promptBy({ version: '3' }, 'c3', calls(['pay', { euros: 9 }]))).toBe(given);
      expect(await promptBy({ onUpgrade: 'current' }, 'c4', 'Done.')).toBe('Old 5.');
    }
  });
});
