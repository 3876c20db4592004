import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { BUNDLED } from '../support/bundled.ts';
import type { WireForm } from '../support/mcp/misbehaving.ts';
import { eachForm } from '../support/soak.ts';

const FORMS = ['stdio', 'json', 'sse'] as const;
const HTTP = ['json', 'sse'] as const;
/** A process of its own takes its time to start where many do. */
const LONG = 90_000;

const memory = [
  ['endless-pages', 'more pages than limits.mcp.listPages allows (100)'],
  ['large-pages', 'limits.mcp.messageBytes allows'],
  ['full-pages', 'limits.mcp.messageBytes allows'],
  ['many-tools', 'more tools than limits.mcp.tools allows (1000)'],
  ['intricate-list', 'more than 500000 objects and lists'],
  ['endless-greeting', 'limits.mcp.messageBytes allows'],
] as const;

const stream = [['endless-stream', 'one of its events is larger than limits.mcp.messageBytes']] as const;

/** What ends a connection, and over which forms of messages it is tried. */
const fatal = [...eachForm(FORMS, memory), ...eachForm(HTTP, stream)];

const fullLists = eachForm(FORMS, [['full-list/tool_0']] as const);

/** What is cut off while it arrives. */
const tooMuch = eachForm(FORMS, [
  ['large', 'limits.mcp.messageBytes allows (10485760)'],
  ['intricate', 'more than 500000 objects and lists'],
  ['endless', 'limits.mcp.messageBytes allows (10485760)'],
] as const);

test.each(fatal)(
  'in 256 MB, over %s, %s ends that connection for good, and the other server works',
  async (form, mode, words) => {
    const { status, code, state, message, results } = await inSmallHost(form, `${mode}/nothing`);
    expect({ status, code, state }).toEqual({ status: 'answered', code: 'limit-exceeded', state: 'FAILED' });
    expect(message).toContain(words);
    expect(results[1]).toContain('all well');
  },
  LONG,
);

test.each(tooMuch)(
  'in 256 MB, over %s, the %s answer of a call is an error at once that says so, and the other server works',
  async (form, tool, words) => {
    const { status, results, state, echo, again } = await inSmallHost(form, `normal/${tool}`);
    expect(status).toBe('answered');
    expect(results[0]).toContain(words);
    expect(results[1]).toContain('all well');
    // Only what has no end costs the connection.
    if (form !== 'stdio' || tool !== 'endless') expect(state).toBe('READY');
    expect(echo).toMatchObject({ data: 'echo' });
    expect(again).toBe('limit-exceeded');
  },
  LONG,
);

test.each(fullLists)(
  'in 256 MB, over %s, a list just within the limits is used',
  async (form, wanted) => {
    const { results, sent } = await inSmallHost(form, wanted);
    expect(results[0]).toContain('"data":"tool_0"');
    expect(sent).toBeGreaterThan(38);
  },
  LONG,
);

interface Told {
  readonly case: string;
  readonly status: string;
  readonly code?: string;
  readonly state: string;
  readonly message?: string;
  readonly results: readonly string[];
  readonly sent: number;
  readonly echo?: object;
  readonly again?: string;
}

/** The processes with little memory, one for each form of messages; the first test that asks for one starts all. */
const hosts = new Map<WireForm, Promise<readonly Told[]>>();

/** What became of an agent in a process with 256 MB for its heap; one that runs out of it fails the tests of its form. */
async function inSmallHost(form: WireForm, wanted: string): Promise<Told> {
  if (hosts.size === 0) {
    for (const each of FORMS) {
      const host = smallHost(each);
      hosts.set(each, host);
      // The tests of that form report it.
      void host.catch(() => undefined);
    }
  }
  const told = (await hosts.get(form))?.find((one) => one.case === wanted);
  if (told === undefined) throw new Error(`${wanted} was not tried over ${form}`);
  return told;
}

async function smallHost(form: WireForm): Promise<readonly Told[]> {
  const script = fileURLToPath(new URL('children/small-host.ts', import.meta.url));
  const cases = [
    ...fatal.flatMap(([over, mode]) => (over === form ? [`${mode}/nothing`] : [])),
    ...tooMuch.flatMap(([over, tool]) => (over === form ? [`normal/${tool}`] : [])),
    ...fullLists.flatMap(([over, wanted]) => (over === form ? [wanted] : [])),
  ];
  const args = ['--max-old-space-size=256', ...BUNDLED, script, form, ...cases];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: LONG, killSignal: 'SIGKILL' });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line): Told => JSON.parse(line));
}
