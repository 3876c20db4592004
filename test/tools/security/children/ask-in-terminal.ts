import { once } from 'node:events';
import { terminalConfirm } from '../../../../src/security/index.ts';

// It asks when it is told to, so that keys can be typed before.
const keepAlive = setInterval(() => undefined, 1000);
// Listening before the test knows whom to tell, or a quick one would end us.
const told = once(process, 'SIGUSR2');
process.stdout.write(`pid=${String(process.pid)};\n`);
await told;
clearInterval(keepAlive);
const confirm = terminalConfirm();
const ask = (tool: string) => confirm({ tool, args: { of: tool }, reason: 'a test asks' });
const asked = [ask('first'), ask('second')];
// A busy moment: by the time that anything can be read, every short delay is over.
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
const decisions = await Promise.all(asked);
process.stdout.write(`decisions=${decisions.join()} raw=${String(process.stdin.isRaw)};\n`);
