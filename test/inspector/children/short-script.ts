/** A script that ends with its only run. */
import { createAgent } from '../../../src/agent/create-agent.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';

const silent = process.argv[2] === 'silent';
await createAgent({ model: scriptedModel(['Done.']), inspect: true, silent }).run('Be short');
