/** A program that uses a server and then ends, or does not, in one of many ways: the first argument. */
import { createMcpConnection } from '../../../src/mcp/index.ts';
import { hostileEntry } from './hostile-entry.ts';

const [way = 'waits', mode = 'normal'] = process.argv.slice(2);
if (way === 'listens-once') {
  // Registered before there is a server, as a program does that closes its agents.
  process.once('SIGTERM', () => {
    console.log('closing');
    setTimeout(() => {
      console.log('closed');
      void connection.disconnect();
    }, 1500);
  });
}
const connection = createMcpConnection('hostile', hostileEntry(mode));
await connection.connect();
const { data } = await connection.callTool('pids');
if (way === 'has-a-listener') {
  process.on('SIGINT', () => {
    void connection.callTool('echo').then(({ status }) => console.log(`after SIGINT: ${status}`));
  });
}
if (way === 'has-a-passive-listener') {
  // What the package signal-exit does: it ends the program when nobody else wants to.
  Reflect.set(globalThis, Symbol.for('signal-exit emitter'), { count: 1 });
  const passive = (): void => {
    if (process.listenerCount('SIGINT') > 1) return;
    process.off('SIGINT', passive);
    process.kill(process.pid, 'SIGINT');
  };
  process.on('SIGINT', passive);
}
console.log(data);
if (way === 'throws') setTimeout(() => JSON.parse('{'), 10);
if (way === 'rejects') void Promise.reject(new Error('nobody caught me'));
if (way === 'exits') process.exit(3);
if (way === 'disconnects') {
  await connection.disconnect();
  console.log(
    `listeners: ${process.listenerCount('SIGINT') + process.listenerCount('SIGTERM') + process.listenerCount('exit')}`,
  );
}
