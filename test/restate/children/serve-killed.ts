// An endpoint with the agent of the kill tests. A number on a line of stdin: the process ends itself, as a crash does, at that
// boundary from then on. Arguments: port, log, life.
import { createEndpointHandler } from '@restatedev/restate-sdk';
import { createServer } from 'node:http2';
import { createInterface } from 'node:readline';
import { restateAgent } from '../../../src/restate/index.ts';
import { killedAgent, logIn } from '../killed-agent.ts';

const [port = '0', path = '', life = '0'] = process.argv.slice(2);
let left = Infinity;
const log = logIn(path, life);

function boundary(place: string): void {
  left -= 1;
  if (left > 0) return;
  log.note(`killed ${place}`);
  process.kill(process.pid, 'SIGKILL');
}

const hooks = [
  () => ({
    interceptor: {
      run: async (name: string, next: () => Promise<void>) => {
        boundary(`before the step ${name}`);
        await next();
        boundary(`behind the step ${name}`);
        setTimeout(() => boundary(`shortly behind the step ${name}`), 1);
      },
    },
  }),
];
const service = restateAgent(killedAgent(log, boundary), { retry: { firstWaitMs: 20, longestWaitMs: 100 } });
const handler = createEndpointHandler({
  services: [service],
  logger: () => undefined,
  defaultServiceOptions: { hooks },
});
createInterface(process.stdin).on('line', (line) => {
  left = Number(line);
  console.log('armed');
});
createServer(handler).listen(Number(port), '127.0.0.1', () => console.log('serving'));
