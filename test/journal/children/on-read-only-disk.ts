import { createAgent } from '../../../src/agent/create-agent.ts';
import { fileJournal } from '../../../src/journal/stores/file.ts';
import { sqliteJournal } from '../../../src/journal/stores/sqlite.ts';
import { fileTokenStore } from '../../../src/mcp/auth/token-store.ts';
import { permissionStore } from '../../../src/security/permissions-store.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';

// What is said where nothing can be written: the folder and the home folder are on a read-only disk.
for (const journal of [fileJournal('state/runs'), sqliteJournal('state/runs.db')]) {
  const { status, error } = await createAgent({ model: scriptedModel(['Done.']), silent: true, journal }).run('Go');
  console.log(status, error?.code, error?.message);
}
const said = (error: unknown): void => console.log(String(error));
await fileTokenStore().set('key', 'value').catch(said);
try {
  permissionStore({ agent: 'a' }).add('pay');
} catch (error) {
  said(error);
}
