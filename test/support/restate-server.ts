import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

/** The server's binary for this platform, as npm has installed it; null where there is none. */
export function restateBinary(): string | null {
  try {
    const { resolve } = createRequire(import.meta.url);
    const folder = join(resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/package.json`), '..');
    const binary = join(folder, 'bin', 'restate-server');
    return existsSync(binary) ? binary : null;
  } catch {
    return null;
  }
}

/** A real Restate server in a folder of its own, on free ports. Disposing it ends it and removes the folder. */
export class RestateServer implements AsyncDisposable {
  readonly ingress: string;
  readonly admin: string;
  readonly #folder: string;
  readonly #ports: readonly [node: number, ingress: number, admin: number];
  readonly #env: Readonly<Record<string, string>>;
  #process: ChildProcess | null = null;

  private constructor(folder: string, ports: readonly [number, number, number], env: Readonly<Record<string, string>>) {
    this.#env = env;
    this.#folder = folder;
    this.#ports = ports;
    this.ingress = `http://127.0.0.1:${ports[1]}`;
    this.admin = `http://127.0.0.1:${ports[2]}`;
  }

  static async start(env: Readonly<Record<string, string>> = {}): Promise<RestateServer> {
    const folder = await mkdtemp(join(tmpdir(), 'restate-'));
    const server = new RestateServer(folder, [await freePort(), await freePort(), await freePort()], env);
    await server.launch();
    return server;
  }

  /** Starts it, again after a kill; resolves when it takes requests. */
  async launch(): Promise<void> {
    const binary = restateBinary();
    if (binary === null) throw new Error('There is no Restate server for this platform.');
    const [node, ingress, admin] = this.#ports;
    this.#process = spawn(binary, [], {
      stdio: 'ignore',
      cwd: this.#folder,
      env: {
        PATH: process.env['PATH'],
        RESTATE_BASE_DIR: join(this.#folder, 'data'),
        RESTATE_NODE_NAME: 'test',
        RESTATE_CLUSTER_NAME: 'test',
        RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
        RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
        RESTATE_DEFAULT_NUM_PARTITIONS: '1',
        RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '128MB',
        RESTATE_DISABLE_TELEMETRY: 'true',
        ...this.#env,
      },
    });
    await answering(`${this.admin}/health`);
    await answering(`${this.ingress}/restate/health`);
  }

  /** Makes the server know the services of an endpoint. */
  async register(uri: string): Promise<void> {
    const body = JSON.stringify({ uri, force: true });
    const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const answer = await fetch(`${this.admin}/deployments`, sent);
    if (!answer.ok) throw new Error(`The deployment was refused: ${await answer.text()}`);
  }

  /** Resolves when the invocation of a workflow's run is suspended: no process holds it. */
  async suspended(name: string, key: string): Promise<void> {
    const query = `select id from sys_invocation where target = '${name}/${key}/run' and status = 'suspended'`;
    while (!(await this.#queried(query)).includes('"id":"inv_'))
      await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** Cancels the invocation of a workflow's run. */
  async cancel(name: string, key: string): Promise<void> {
    const query = `select id from sys_invocation where target = '${name}/${key}/run'`;
    const text = await this.#queried(query);
    const [, id] = /"id":"(inv_\w+)"/.exec(text) ?? [];
    if (id === undefined) throw new Error(`There is no run ${key}: ${text}`);
    await fetch(`${this.admin}/invocations/${id}/cancel`, { method: 'PATCH' });
  }

  async #queried(query: string): Promise<string> {
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const found = await fetch(`${this.admin}/query`, { method: 'POST', headers, body: JSON.stringify({ query }) });
    return found.text();
  }

  /** Ends it at once, as a crash does. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function answering(url: string): Promise<void> {
  const until = performance.now() + 30_000;
  for (;;) {
    const answer = await fetch(url).catch(() => null);
    await answer?.arrayBuffer();
    if (answer?.ok === true) return;
    if (performance.now() > until) throw new Error(`${url} does not answer.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
