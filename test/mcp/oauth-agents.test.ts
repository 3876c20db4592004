import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import type { Agent } from '../../src/agent/agent-types.ts';
import type { AgentOptions } from '../../src/agent/options/agent-options.ts';
import type { RunEvent } from '../../src/machines/events/run-events.ts';
import { type OAuthOptions, oauth } from '../../src/mcp/index.ts';
import { fakeTool } from '../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { inspector } from '../inspector/with-inspector.ts';
import { viewer } from '../inspector/viewer.ts';
import { type Guarded, agree, desk, guarded, signIn, until } from '../support/mcp/signing-in.ts';
import { calls } from '../support/replies.ts';

function agentAt({ server, store }: Guarded, options: AgentOptions, auth: OAuthOptions = {}): Agent {
  const mcpServers = { desk: { url: server.url, auth: oauth({ store, ...auth }) } };
  const agent = createAgent({ mcpServers, silent: true, ...options });
  onTestFinished(() => agent.close());
  return agent;
}

const systemOf = (request: { readonly messages: readonly { readonly content: unknown }[] } | undefined): string =>
  String(request?.messages[0]?.content);
const toolsOf = (request: { readonly tools?: readonly { readonly name: string }[] } | undefined) =>
  (request?.tools ?? []).map(({ name }) => name);

test('a missing login is a question of the run, not a hang; once it is answered the next turn has the tools', async () => {
  const place = await guarded();
  const signedIn = Promise.withResolvers<undefined>();
  const wait = fakeTool('wait', [() => signedIn.promise.then(() => 'waited')]);
  const model = scriptedModel([calls(['wait']), calls(['desk_read']), 'Done.']);
  const events: RunEvent[] = [];
  const agent = agentAt(place, { model, tools: [wait], onEvent: (event) => events.push(event) });
  const run = agent.run('Read it.');
  await until(() => model.requests.length === 1);
  const [question] = run.pending;
  expect(question).toMatchObject({
    callId: 'login:desk',
    login: { server: 'desk', answer: 'loopback', scopes: ['read'] },
  });
  expect(agent.pending()).toEqual(run.pending);
  await fetch(await agree(question?.login?.url ?? ''));
  await until(() => agent.mcp['desk']?.state === 'READY');
  expect(run.pending).toEqual([]);
  signedIn.resolve(undefined);
  expect(await run).toMatchObject({ success: true, toolsUsed: ['wait', 'desk_read'] });
  expect(systemOf(model.requests[0])).toContain("The server 'desk' needs a person to sign in");
  expect(toolsOf(model.requests[0])).not.toContain('desk_read');
  expect(systemOf(model.requests[1])).not.toContain('sign in');
  expect(toolsOf(model.requests[1])).toContain('desk_read');
  expect(place.server.calls).toEqual(['read']);
  expect(events).toContainEqual(expect.objectContaining({ type: 'mcp.changed', state: 'READY', step: null, tools: 3 }));
});

test('a sign-in that a server waits for is counted in the list of runs while nobody watches, and no longer when it is done', async () => {
  const place = await guarded();
  const shown = await inspector();
  const waiting = (wanted: number) =>
    viewer(shown.url).list((frame) => frame.t === 'session' && (frame.session.waiting ?? 0) === wanted);
  const over = Promise.withResolvers<undefined>();
  const wait = fakeTool('wait', [() => over.promise.then(() => 'waited')]);
  const model = scriptedModel([calls(['wait']), 'Done.']);
  const agent = agentAt(place, { model, tools: [wait], inspect: shown });
  const run = agent.run('Wait.');
  await until(() => run.pending.length === 1);
  await waiting(1);
  await run.reject('login:desk');
  await waiting(0);
  const again = agent.mcp['desk']?.login();
  await until(() => run.pending.length === 1);
  await waiting(1);
  await fetch(await agree(run.pending[0]?.login?.url ?? ''));
  await until(() => agent.mcp['desk']?.state === 'READY');
  expect(await again).toBe(true);
  await waiting(0);
  over.resolve(undefined);
  expect(await run).toMatchObject({ success: true });
});

test('whoever follows a run finds the address when they hear of it: in the first run, and in the next', async () => {
  const place = await guarded();
  const agent = agentAt(place, { model: scriptedModel(['One.', 'Two.', 'Three.']) });
  const shown = async (isTold: (event: RunEvent) => boolean): Promise<readonly string[]> => {
    const links = new Set<string>();
    const run = agent.run('Read it.');
    for await (const event of run) {
      if (!isTold(event)) continue;
      for (const { login } of run.pending) if (login !== undefined) links.add(login.url);
    }
    expect(run.pending).toEqual([]);
    return [...links];
  };
  const [link = ''] = await shown((event) => event.type === 'mcp.changed' && event.step === 'AWAITING_USER');
  expect(link).toContain('/authorize');
  expect(await shown(({ type }) => type === 'warning')).toEqual([link]);
  await fetch(await agree(link));
  await until(() => agent.mcp['desk']?.state === 'READY');
  expect(await shown(() => true)).toEqual([]);
});

test('a run waits for nobody: it answers while the login is missing, and its events say so', async () => {
  const place = await guarded();
  const events: RunEvent[] = [];
  const model = scriptedModel(['I cannot read it before you sign in.']);
  const agent = agentAt(place, { model, onEvent: (event) => events.push(event) });
  expect(await agent.run('Read it.')).toMatchObject({ success: true });
  const warning = events.find(({ type }) => type === 'warning');
  expect(JSON.stringify(warning)).toContain('before somebody signs in');
  expect(JSON.stringify(events)).not.toContain('/authorize');
});

test('a run that requires the server fails with login-required', async () => {
  const place = await guarded();
  const mcpServers = { desk: { url: place.server.url, auth: oauth({ store: place.store }), required: true } };
  const agent = createAgent({ mcpServers, silent: true, model: scriptedModel([]) });
  onTestFinished(() => agent.close());
  expect(await agent.run('Read it.')).toMatchObject({ status: 'failed', error: { code: 'login-required' } });
});

test('approve hands back the address on which a browser has ended, and reject ends the question', async () => {
  const place = await guarded();
  const over = Promise.withResolvers<undefined>();
  const wait = fakeTool('wait', [() => over.promise.then(() => 'waited')]);
  const model = scriptedModel([calls(['wait']), 'Done.']);
  const agent = agentAt(place, { model, tools: [wait] }, { redirect: 'https://app.example/back' });
  const run = agent.run('Wait.');
  await until(() => model.requests.length === 1);
  const { login, callId = '' } = run.pending[0] ?? {};
  expect(login?.answer).toBe('paste');
  expect(await run.approve(callId)).toBe(false);
  expect(await run.approve(callId, { args: { address: 'https://app.example/back?code=a&state=b' } })).toBe(false);
  expect(await run.reject(callId)).toBe(true);
  await until(() => agent.mcp['desk']?.state === 'NEEDS_LOGIN');
  expect(run.pending).toEqual([]);
  expect(await run.reject(callId)).toBe(false);
  const again = agent.mcp['desk']?.login();
  await until(() => run.pending.length === 1);
  const address = await agree(run.pending[0]?.login?.url ?? '');
  expect(await run.approve(callId, { args: { address } })).toBe(true);
  expect(await again).toBe(true);
  over.resolve(undefined);
  expect(await run).toMatchObject({ success: true });
});

test('a token that expires in the middle of a run is renewed without a word to the model', async () => {
  const place = await guarded();
  await signIn(desk(place));
  const expire = fakeTool('expire', [
    () => {
      place.auth.expire();
      return 'expired';
    },
  ]);
  const model = scriptedModel([calls(['desk_read']), calls(['expire']), calls(['desk_read']), 'Done.']);
  const agent = agentAt(place, { model, tools: [expire] });
  expect(await agent.run('Read twice.')).toMatchObject({ success: true, errorHistory: [] });
  expect(place.server.calls).toEqual(['read', 'read']);
  expect(place.auth.count('POST /token refresh_token')).toBe(1);
});

test('a login that is lost in the middle of a run is an error with a code, which says what to do', async () => {
  const place = await guarded();
  await signIn(desk(place));
  const lose = fakeTool('lose', [
    () => {
      place.auth.expire();
      place.auth.revoke();
      return 'lost';
    },
  ]);
  const model = scriptedModel([calls(['lose']), calls(['desk_read']), 'You have to sign in again.']);
  const agent = agentAt(place, { model, tools: [lose] });
  const { errorHistory, messages } = await agent.run('Read it.');
  expect(errorHistory).toMatchObject([{ tool: 'desk_read', code: 'execution' }]);
  expect(JSON.stringify(messages)).toContain("'signalbox mcp login desk'");
  expect(place.server.calls).toEqual([]);
});

test('no recording, event, trace or page holds a token, a code or a secret, not even when the server repeats it', async () => {
  const place = await guarded();
  const shown = await inspector();
  const look = viewer(shown.url);
  const events: RunEvent[] = [];
  const ready = Promise.withResolvers<undefined>();
  const wait = fakeTool('wait', [() => ready.promise.then(() => 'waited')]);
  const model = scriptedModel([calls(['wait']), calls(['desk_whoami']), calls(['desk_write']), 'Done.']);
  const agent = agentAt(place, { model, tools: [wait], inspect: shown, onEvent: (event) => events.push(event) });
  const run = agent.run('Who am I?');
  await until(() => model.requests.length === 1);
  await fetch(await agree(run.pending[0]?.login?.url ?? ''));
  await until(() => agent.mcp['desk']?.state === 'READY');
  place.auth.expire();
  ready.resolve(undefined);
  const result = await run;
  const verifier = place.auth.lastToken().get('code_verifier');
  expect(place.server.calls).toEqual(['whoami']);
  const sessions = await look.list((frame) => frame.t === 'session' && frame.session.title === 'MCP desk');
  const frames: unknown[] = [];
  for (const session of sessions.flatMap((frame) => (frame.t === 'session' ? [frame.session] : []))) {
    const page = await look.page(session.id, 0, 1000);
    frames.push(page);
    for (const frame of page.frames) if (frame.t === 'step') frames.push(await look.step(session.id, frame.step.n));
  }
  expect(JSON.stringify(frames)).toContain('AWAITING_USER');
  expect(run.recording()).toContain('«secret:');
  const told = JSON.stringify([run.recording(), events, run.transitions(), frames, model.requests]);
  for (const secret of [...place.auth.secrets, verifier]) if (secret !== null) expect(told).not.toContain(secret);
  // The caller gets what the server said, as with every secret.
  expect(JSON.stringify(result.messages)).toContain('Bearer access-');
});
