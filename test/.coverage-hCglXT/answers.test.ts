
import { test } from 'vitest';
import { createAgent } from '../../src/index.ts';
test('answers', async () => {
  await createAgent({ model: { complete: async () => ({ content: 'Hello.' }) }, silent: true }).run('Hi');
});
