/** An agent in a worker thread: tells its result to whoever started it. */
import { parentPort } from 'node:worker_threads';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { calls } from '../../support/replies.ts';

const agent = createAgent({ model: scriptedModel([calls(['look']), 'Tea.']), tools: [fakeTool('look')], silent: true });
const { result, toolsUsed } = await agent.run('What is there?');
await agent.close();
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- A port of a worker, not a window.
parentPort?.postMessage({ result, toolsUsed });
