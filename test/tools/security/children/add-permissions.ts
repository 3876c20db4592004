import { once } from 'node:events';
import { permissionStore } from '../../../../src/security/permissions-store.ts';

const [path = '', agent = '', prefix = '', count = '0'] = process.argv.slice(2);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const store = permissionStore({ path, agent });
for (let n = 0; n < Number(count); n++) store.add(`${prefix}${String(n)}`);
process.stdin.destroy();
