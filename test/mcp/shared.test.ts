import { expect, onTestFinished, test } from 'vitest';
import { createAgent } from '../../src/agent/create-agent.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { hostileEntry } from '../support/mcp/hostile-entry.ts';
import { watched } from '../support/mcp/hostile.ts';
import { calls } from '../support/replies.ts';

test('two hundred agents share one process, and none of them ends it', async () => {
  const { connection, states } = watched(hostileEntry());
  const agents = Array.from({ length: 200 }, (_, at) =>
    createAgent({
      name: `agent-${at}`,
      silent: true,
      model: scriptedModel([calls(['shared_pid', {}, 'a']), 'Done.']),
      mcpServers: { shared: connection },
    }),
  );
  onTestFinished(async () => void (await Promise.all(agents.map((agent) => agent.close()))));
  const results = await Promise.all(agents.map((agent) => agent.run('Who serves you?')));
  const told = results.flatMap(({ messages }) =>
    messages.filter(({ role }) => role === 'tool').map(({ content }) => content),
  );
  expect(told).toHaveLength(200);
  expect(new Set(told)).toEqual(new Set([told[0]]));
  expect(states().filter((state) => state === 'CONNECTING')).toHaveLength(1);
  await Promise.all(agents.map((agent) => agent.close()));
  expect(connection.state).toBe('READY');
});
