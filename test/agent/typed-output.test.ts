import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../src/actors/model.ts';
import { createAgent } from '../../src/agent/create-agent.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import type { RequestBody, Scripted } from '../support/model-server.ts';
import { calls } from '../support/replies.ts';
import { overEachTransport } from '../support/transports.ts';
import { agentOn } from './agent-on-server.ts';

const BOOK = z.object({ title: z.string(), year: z.int(), pages: z.int().optional() });
const DUNE = { title: 'Dune', year: 1965 };

const look = () => fakeTool('look', [{ found: 'Dune' }, { found: 'nothing more' }]);
const answer = (args: object | string, id = 'out', name = 'final_answer') => ({
  id,
  name,
  arguments: { ...Object(args) },
});

function namesOf(body: RequestBody | undefined): readonly string[] {
  return (body?.tools ?? []).map((offered) => offered.function.name);
}

/** What a request asks of the server: tools, or a schema of the reply. */
function asked(body: RequestBody | undefined) {
  const format = body?.['response_format'];
  return { tools: namesOf(body).length > 0, schema: format !== undefined };
}

overEachTransport(() => {
  describe('over real HTTP', () => {
    test('beside tools the answer comes by a tool of its own, and never with a schema in the same request', async () => {
      const { server, agent } = await agentOn(
        [{ toolCalls: [{ id: 'a', name: 'look', arguments: {} }] }, { toolCalls: [answer(DUNE)] }],
        { tools: [look()], outputSchema: BOOK },
      );
      const result = await agent.run('Which book?');
      expect(result).toMatchObject({ success: true, status: 'answered', reason: 'answer', output: DUNE });
      expect(JSON.parse(result.result)).toEqual(DUNE);
      expect(result).toMatchObject({ stepsTaken: 2, toolsUsed: ['look'], errorHistory: [] });
      for (const { body } of server.requests) {
        expect(namesOf(body)).toEqual(['look', 'make_plan', 'final_answer']);
        expect(asked(body)).toEqual({ tools: true, schema: false });
      }
      expect(server.requests[0]?.body.messages[0]).toMatchObject({
        role: 'system',
        content: expect.stringContaining("call 'final_answer'"),
      });
    });

    test('without tools the server is asked to hold the reply to the strict form of the schema', async () => {
      const { server, agent } = await agentOn(['{"title": "Dune", "year": 1965, "pages": null}'], {
        outputSchema: BOOK,
      });
      const result = await agent.run('Which book?');
      expect(result.output).toEqual(DUNE);
      expect(result.output).not.toHaveProperty('pages');
      const [request] = server.requests;
      expect(asked(request?.body)).toEqual({ tools: false, schema: true });
      expect(request?.body['response_format']).toMatchObject({
        type: 'json_schema',
        json_schema: {
          strict: true,
          schema: {
            required: ['title', 'year', 'pages'],
            additionalProperties: false,
            properties: { title: { type: 'string' }, pages: { type: ['integer', 'null'] } },
          },
        },
      });
    });

    test('a server that takes the schema and ignores it still gives a value, or is corrected', async () => {
      const { agent } = await agentOn(
        [
          'Sure! Here it is:\n```json\n{title: "Dune", year: "1965",}\n```',
          'It is Dune.',
          '{"title": "Dune", "year": 1965}',
        ],
        { outputSchema: BOOK },
      );
      const mended = await agent.run('Which book?');
      expect(mended.output).toEqual(DUNE);
      const run = agent.run('Again?');
      const repairs = [];
      for await (const event of run) if (event.type === 'model.replied') repairs.push(...event.repairs);
      expect(await run).toMatchObject({ output: DUNE, stepsTaken: 2, errorHistory: [{ code: 'output-invalid' }] });
      expect(repairs).toEqual([]);
    });

    test('a server that refuses the schema is asked by the prompt, and not with a schema again', async () => {
      const refusal: Scripted = {
        status: 400,
        body: { error: { message: "Unsupported parameter: 'response_format'", param: 'response_format' } },
      };
      const { server, agent } = await agentOn([refusal, JSON.stringify(DUNE), JSON.stringify(DUNE)], {
        outputSchema: BOOK,
      });
      expect(await agent.run('Which book?')).toMatchObject({ output: DUNE, stepsTaken: 1 });
      expect(await agent.run('Again?')).toMatchObject({ output: DUNE });
      expect(server.requests.map(({ body }) => asked(body).schema)).toEqual([true, false, false]);
      expect(String(server.requests[1]?.body.messages[0]?.content)).toContain('"title"');
    });

    test('a server that refuses tools gets the answer in the envelope, whose "answer" carries the value', async () => {
      const refusal: Scripted = { status: 400, body: { error: { message: 'this model does not support tools' } } };
      const { server, agent } = await agentOn(
        [refusal, '{"thought": "easy", "answer": {"title": "Dune", "year": 1965}}'],
        { tools: [look()], outputSchema: BOOK },
      );
      expect(await agent.run('Which book?')).toMatchObject({ success: true, output: DUNE });
      const body = server.requests[1]?.body;
      expect(asked(body).tools).toBe(false);
      expect(String(body?.messages[0]?.content)).toContain('The value of "answer" must fit this JSON Schema');
    });

    test('in json mode the schema of the envelope holds that of the answer', async () => {
      const { server, agent } = await agentOn(['{"answer": [1, 2]}'], {
        toolCalling: 'json',
        outputSchema: z.array(z.int()),
      });
      expect((await agent.run('Which?')).output).toEqual([1, 2]);
      expect(server.requests[0]?.body['response_format']).toMatchObject({
        json_schema: { schema: { properties: { answer: { type: 'array' } } } },
      });
    });

    test('an answer that does not fit is told with the problems by path, twice at most, then the run has failed', async () => {
      const wrong = { toolCalls: [answer({ title: 'Dune', year: 'long ago' })] };
      const again = { toolCalls: [answer({ year: 1965 }, 'out2')] };
      const { server, agent } = await agentOn([wrong, again, wrong, 'never asked'], {
        tools: [look()],
        outputSchema: BOOK,
      });
      const result = await agent.run('Which book?');
      expect(result).toMatchObject({
        success: false,
        status: 'failed',
        reason: 'output-invalid',
        output: null,
        stepsTaken: 3,
        toolsUsed: [],
        error: { code: 'output-invalid', message: expect.stringContaining('/year') },
      });
      expect(result.errorHistory.map(({ code }) => code)).toEqual(['output-invalid', 'output-invalid']);
      expect(server.requests).toHaveLength(3);
      const told = server.requests.map(({ body }) => String(body.messages.at(-1)?.content));
      expect(told[1]).toContain('/year');
      expect(told[2]).toContain('/title');
      expect(told[2]).not.toContain('/year');
      await expect(agent.run('Which?').orThrow()).rejects.toThrow();
    });

    test.each(['tool', 'native', 'prompt'] as const)('outputMode %s asks so', async (outputMode) => {
      const { server, agent } = await agentOn([JSON.stringify(DUNE)], { outputSchema: BOOK, outputMode });
      expect((await agent.run('Which book?')).output).toEqual(DUNE);
      const body = server.requests[0]?.body;
      expect(asked(body)).toEqual({ tools: outputMode === 'tool', schema: outputMode === 'native' });
      expect(String(body?.messages[0]?.content).includes('"title"')).toBe(outputMode !== 'tool');
    });

    test('outputMode native beside tools is asked for in the prompt, and held to the schema in the last turn alone', async () => {
      const { server, agent } = await agentOn(
        [{ toolCalls: [{ id: 'a', name: 'look', arguments: {} }] }, JSON.stringify(DUNE)],
        { tools: [look()], outputSchema: BOOK, outputMode: 'native', maxSteps: 2 },
      );
      expect(await agent.run('Which book?')).toMatchObject({ status: 'stopped', reason: 'max-steps', output: DUNE });
      expect(server.requests.map(({ body }) => asked(body))).toEqual([
        { tools: true, schema: false },
        { tools: false, schema: true },
      ]);
    });

    test('without a schema nothing is different', async () => {
      const { server, agent } = await agentOn(['{"title": "Dune"}'], { tools: [look()] });
      const result = await agent.run('Which book?');
      expect(result).toMatchObject({ result: '{"title": "Dune"}', output: null, success: true });
      expect(namesOf(server.requests[0]?.body)).toEqual(['look', 'make_plan']);
      expect(await agent.run('x').then(({ output }) => output)).toBe(null);
    });
  });
});

describe('which tool gives the answer', () => {
  test("a user's tool named final_answer stays the user's: ours gets another name", async () => {
    const own = fakeTool('final_answer', ['kept by the user']);
    const model = scriptedModel([calls(['final_answer', { text: 'hi' }]), calls(['final_answer_2', DUNE])]);
    const result = await createAgent({ model, tools: [own], outputSchema: BOOK, silent: true }).run('Go');
    expect(own.calls).toEqual([{ text: 'hi' }]);
    expect(result).toMatchObject({ output: DUNE, toolsUsed: ['final_answer'] });
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['final_answer', 'make_plan', 'final_answer_2']);
  });

  test.each(['Final_Answer', 'final.answer'])('a tool named %s is not shadowed either', async (name) => {
    const own = fakeTool(name, ['kept']);
    const model = scriptedModel([calls([name, {}]), calls(['final_answer_2', DUNE])]);
    const result = await createAgent({ model, tools: [own], outputSchema: BOOK, silent: true }).run('Go');
    expect(own.calls).toHaveLength(1);
    expect(result.output).toEqual(DUNE);
  });

  test('a union of objects is a tool for each member, named by its title', async () => {
    const schema = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('found'), title: z.string() }).meta({ title: 'Found it' }),
      z.object({ kind: z.literal('missing'), why: z.string() }),
    ]);
    const model = scriptedModel([calls(['final_answer_2', { kind: 'missing', why: 'burnt' }])]);
    const result = await createAgent({ model, tools: [look()], outputSchema: schema, silent: true }).run('Go');
    expect(result.output).toEqual({ kind: 'missing', why: 'burnt' });
    expect(model.requests[0]?.tools?.map(({ name }) => name).slice(2)).toEqual([
      'final_answer_found_it',
      'final_answer_2',
    ]);
  });

  test('a model that writes the name in another way is understood', async () => {
    const run = (name: string) =>
      createAgent({
        model: scriptedModel([calls([name, DUNE])]),
        tools: [look()],
        outputSchema: BOOK,
        silent: true,
      }).run('Go');
    expect((await run('Final_Answer')).output).toEqual(DUNE);
    expect((await run('finalAnswer')).output).toEqual(DUNE);
    expect((await run('final-answer')).output).toEqual(DUNE);
  });

  test('where a host takes both, the schema stands beside the tools', async () => {
    const seen: object[] = [];
    const model: Model = {
      takesSchemaWithTools: true,
      complete: async ({ tools = [], responseSchema }) => {
        seen.push({ tools: tools.map(({ name }) => name), schema: responseSchema !== undefined });
        return { content: JSON.stringify(DUNE) };
      },
    };
    const agent = createAgent({ model, tools: [look()], outputSchema: BOOK, outputMode: 'native', silent: true });
    expect((await agent.run('Go')).output).toEqual(DUNE);
    expect(seen).toEqual([{ tools: ['look', 'make_plan'], schema: true }]);
  });
});

describe('the tool of the answer is none of the tools', () => {
  test('neither policy, budget nor loop detection is asked about it, and it is not used', async () => {
    const model = scriptedModel([
      calls(['look']),
      calls(['final_answer', { title: 1 }]),
      calls(['final_answer', { title: 1 }]),
      calls(['final_answer', DUNE]),
    ]);
    const confirmed: string[] = [];
    const agent = createAgent({
      model,
      tools: [look()],
      outputSchema: BOOK,
      silent: true,
      confirm: ({ tool }) => (confirmed.push(tool), 'deny'),
      budget: { maxToolCalls: 1 },
      maxConsecutiveRepeats: 2,
    });
    const run = agent.run('Go');
    const started: string[] = [];
    for await (const event of run) if (event.type === 'tool.started') started.push(event.tool);
    expect(await run).toMatchObject({ success: true, output: DUNE, toolsUsed: ['look'] });
    expect(started).toEqual(['look']);
    expect(confirmed).toEqual([]);
  });

  test('its tokens count', async () => {
    const usage = { inputTokens: 5, outputTokens: 5, totalTokens: 10 };
    const model = scriptedModel([{ ...calls(['final_answer', DUNE]), usage }]);
    const agent = createAgent({ model, tools: [look()], outputSchema: BOOK, silent: true });
    expect((await agent.run('Go')).usage).toMatchObject({ totalTokens: 10 });
  });
});
