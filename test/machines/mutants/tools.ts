import { recover } from '../../../src/recovery/recover.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { tool } from '../../../src/tools/tool.ts';

const schema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };
export const look = fakeTool('look', ['tea'], { effects: 'none' });
export const search = fakeTool('search', ['tea'], { inputSchema: schema });
export const asking = fakeTool('buy', [7], { policy: 'confirm' });
export const forbidden = fakeTool('wipe', [null], { policy: 'deny' });
export const retrying = fakeTool('flaky', [1], { onError: { executionError: recover.retry({ maxAttempts: 2 }) } });
export const throwing = fakeTool('fatal', [1], { onError: { executionError: recover.throwException('stop') } });
export const escalating = fakeTool('hard', [1], {
  onError: { executionError: recover.escalate('too hard', 'critical') },
});
export const pausing = fakeTool('slow', [1], {
  onError: { executionError: recover.retry({ maxAttempts: 2, backoff: recover.constant(10) }) },
});
export const switchedOff = tool({ name: 'off', description: 'Off.', enabled: false, execute: () => null });
export const checked = tool({
  name: 'checked',
  description: 'Checks its arguments itself.',
  inputSchema: schema,
  validateArgs: (args) => args,
  execute: () => null,
});
export const deciding = tool({
  name: 'deciding',
  description: 'Says which calls a person must approve.',
  inputSchema: schema,
  needsApproval: () => true,
  execute: () => null,
});
export const mended = (kind: 'fix' | 'sanitize' | 'substitute') =>
  fakeTool('mended', [1], { onError: { executionError: recover[kind](() => null) } });
export const chosen = fakeTool('chosen', [1], { onError: { executionError: () => recover.retry({ maxAttempts: 2 }) } });

/** One tool of each sort, for the machine as it is. */
export const TOOLS = [
  look,
  search,
  asking,
  forbidden,
  retrying,
  throwing,
  escalating,
  pausing,
  switchedOff,
  checked,
  chosen,
];
