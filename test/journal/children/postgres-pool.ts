// Runs an agent on a pool of one connection, prints how that ended, and does nothing else: the process ends by itself.
import pg from 'pg';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { postgresJournal } from '../../../src/journal/postgres/index.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';

const [url = '', schema = ''] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 100 });
const journal = postgresJournal(pool, { schema, migrate: true });
const { status } = await createAgent({ model: scriptedModel(['Done.']), journal, silent: true }).run('Go');
console.log(status);
