import { afterEach } from 'vitest';
import { type Inspector, type InspectorOptions, createInspector } from '../../src/inspector/index.ts';
import { pageFolder } from './page-folder.ts';

const opened: Inspector[] = [];

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

/** An inspector that is closed when the test is over. */
export async function inspector(options: InspectorOptions = {}): Promise<Inspector> {
  const made = await createInspector({ page: pageFolder(), ...options });
  opened.push(made);
  return made;
}
