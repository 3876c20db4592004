import { expect, onTestFinished, test } from 'vitest';
import { createMcpConnection } from '../../src/mcp/index.ts';
import { hasServer, realServer } from '../support/mcp/real-servers.ts';

const installed = hasServer('sequential-thinking');
const why = installed ? '' : ' (skipped: @modelcontextprotocol/server-sequential-thinking is not installed)';

test.skipIf(!installed)(`the sequential-thinking server counts the thoughts that it is told${why}`, async () => {
  const thinking = createMcpConnection('thinking', realServer('sequential-thinking'));
  onTestFinished(() => thinking.disconnect());
  const thought = { thought: 'Tea needs hot water.', nextThoughtNeeded: true, totalThoughts: 2 };
  expect(await thinking.callTool('sequentialthinking', { ...thought, thoughtNumber: 1 })).toMatchObject({
    status: 'success',
    data: { thoughtNumber: 1, thoughtHistoryLength: 1 },
  });
  const last = { ...thought, thoughtNumber: 2, nextThoughtNeeded: false };
  expect(await thinking.callTool('sequentialthinking', last)).toMatchObject({ data: { thoughtHistoryLength: 2 } });
  expect(await thinking.callTool('sequentialthinking', { thought: '' })).toMatchObject({ status: 'error' });
});
