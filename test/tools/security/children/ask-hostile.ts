import { readlinkSync } from 'node:fs';
import { terminalConfirm } from '../../../../src/security/index.ts';

// One question, of the arguments that stand in the environment; `tty` is where the test changes the terminal's size.
const args: unknown = JSON.parse(process.env['ARGS'] ?? 'null');
process.stdout.write(`tty=${readlinkSync('/proc/self/fd/0')};\n`);
const decision = await terminalConfirm()({ tool: 'rm_everything', args, reason: 'a test asks' });
process.stdout.write(`decision=${decision};\n`);
