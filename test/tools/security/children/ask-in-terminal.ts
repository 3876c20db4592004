import { once } from 'node:events';
import { terminalConfirm } from '../../../../src/tools/security.ts';

// It asks when it is told to, so that keys can be typed before.
const keepAlive = setInterval(() => undefined, 1000);
process.stdout.write(`pid=${String(process.pid)};\n`);
await once(process, 'SIGUSR2');
clearInterval(keepAlive);
const confirm = terminalConfirm();
const ask = (tool: string) => confirm({ tool, args: { of: tool }, reason: 'a test asks' });
const decisions = await Promise.all([ask('first'), ask('second')]);
process.stdout.write(`decisions=${decisions.join()} raw=${String(process.stdin.isRaw)};\n`);
