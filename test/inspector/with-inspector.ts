import { onTestFinished } from 'vitest';
import { type Inspector, type InspectorOptions, createInspector } from '../../src/inspector/index.ts';
import { pageFolder } from './page-folder.ts';

/** An inspector that is closed when the test is over. */
export async function inspector(options: InspectorOptions = {}): Promise<Inspector> {
  const made = await createInspector({ page: pageFolder(), ...options });
  onTestFinished(() => made.close());
  return made;
}
