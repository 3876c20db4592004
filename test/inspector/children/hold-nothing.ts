/** A script with an inspector that other apps may be connected to, and with nothing else to do once it is told so. */
import { once } from 'node:events';
import { createInspector } from '../../../src/inspector/index.ts';

const inspector = await createInspector();
console.log(inspector.statelyUrl);
await once(process.stdin, 'data');
process.stdin.destroy();
