/** A program that does one thing with the library, the first argument, and tells what that loaded and opened. */
import { registerHooks } from 'node:module';
import { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';

const packages = new Set<string>();
const sockets: string[] = [];
let processes = 0;

registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context);
    const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(resolved.url) ?? [];
    if (name !== undefined) packages.add(name);
    if (resolved.url === 'node:sqlite') packages.add('node:sqlite');
    return resolved;
  },
});
const connect = Socket.prototype.connect;
Socket.prototype.connect = function watched(this: Socket, ...args: never) {
  const [options]: readonly unknown[] = [args].flat(2);
  sockets.push(`${String(Reflect.get(Object(options), 'host'))}:${String(Reflect.get(Object(options), 'port'))}`);
  return Reflect.apply(connect, this, args);
};
const spawn: unknown = Reflect.get(ChildProcess.prototype, 'spawn');
Reflect.set(ChildProcess.prototype, 'spawn', function watched(this: ChildProcess, ...args: readonly unknown[]) {
  processes += 1;
  return typeof spawn === 'function' ? Reflect.apply(spawn, this, args) : undefined;
});

const [how] = process.argv.slice(2);
const { createAgent } = await import('../../../src/index.ts');
const { scriptedModel } = await import('../../../src/testing/index.ts');
const mcpServers = { files: { command: process.execPath, args: ['-e', '0'] }, far: { url: 'http://192.0.2.1/mcp' } };
if (how === 'make') {
  createAgent();
  createAgent({ model: 'openai', mcpServers });
  createAgent({ model: 'ollama:qwen2.5:7b', trace: true, mcpServers });
  await new Promise((resolve) => setTimeout(resolve, 50));
}
if (how === 'run') await createAgent({ model: scriptedModel(['Hi.']), silent: true }).run('Hello');
if (how === 'discover') await createAgent({ silent: true, retry: { maxAttempts: 1 } }).run('Hello');
console.log(JSON.stringify({ packages: [...packages].toSorted(), sockets, processes }));
