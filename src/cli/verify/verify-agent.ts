import { EXPLORE, type Explorable } from '../../journal/replay/replay.ts';
import { explorePaths } from '../../testing/explore/explore-paths.ts';
import type { ExploreOptions, ExploreProgress } from '../../testing/explore/explore-options.ts';
import { UsageError, loadModule, ofUser, writeFound } from '../command/command.ts';
import { type Paint, painter } from '../../output/console/paint.ts';
import type { Terminal } from '../../output/console/terminal.ts';
import { escaped } from '../../output/console/escaped.ts';
import { counted, wrapText } from '../../terminal/text-width.ts';

/** What `signalbox verify` reports about one agent. */
export type VerifiedAgent = Awaited<ReturnType<typeof verifyAgent>>;

/** Explores an agent, writes counterexamples into the folder, and ends the servers that the agent has started. */
export async function verifyAgent(
  { name, agent, close }: LoadedAgent,
  limits: Pick<ExploreOptions, 'maxSteps' | 'maxPaths' | 'maxSeconds' | 'onProgress'>,
  folder: string,
) {
  const began = performance.now();
  try {
    const { head } = await agent[EXPLORE]('Explore.');
    const found = await explorePaths(agent, limits);
    const fileName = name.replaceAll(/[^\p{L}\p{N}_-]+/gu, '-');
    const violations = found.violations.map(({ counterexample, ...violation }) => ({
      ...violation,
      /** Where the counterexample was written; null where that could not be. */
      file: writeFound(folder, `${fileName}.${violation.law}.jsonl`, counterexample),
    }));
    const endings: Record<string, number> = {};
    for (const { reason } of found.paths) endings[reason ?? 'none'] = (endings[reason ?? 'none'] ?? 0) + 1;
    const { ok, exhaustive, bounds, laws, configurations, events, depth } = found;
    return {
      agent: name,
      tools: head.toolset.tools.map(({ name: tool, policy }) => ({
        name: tool,
        policy,
        ran: found.ran.includes(tool),
      })),
      maxSteps: limits.maxSteps ?? head.options.maxSteps,
      ok,
      exhaustive,
      bounds,
      laws,
      violations,
      configurations,
      events,
      depth,
      /** How many paths ended for which reason. */
      endings,
      seconds: Math.round((performance.now() - began) / 100) / 10,
    };
  } finally {
    await close();
  }
}

/** An agent that a module exports. */
interface LoadedAgent {
  /** The agent's own name, and beside it the export's where the module has several. */
  readonly name: string;
  readonly agent: Explorable;
  close(): Promise<void>;
}

/**
 * Runs a module and returns the agents that it exports, or those that its default export returns, if that is a function;
 * `wanted` names one export, agent or function. Throws a `UsageError` when there is none.
 */
export async function loadAgents(file: string, wanted?: string): Promise<readonly LoadedAgent[]> {
  const module = await loadModule(file, wanted);
  const names = Object.keys(module).join(', ');
  const found: { readonly name: string; readonly agent: Explorable }[] = [];
  for (const [name, exported] of Object.entries(module)) {
    if (wanted !== undefined && name !== wanted) continue;
    // A function is called only if it is clearly the one that makes the agent: other functions may do anything.
    const value = wanted === name || name === 'default' ? await made(exported, name, file) : exported;
    for (const agent of Array.isArray(value) ? value : [value]) if (isAgent(agent)) found.push({ name, agent });
  }
  const different = found.filter(({ agent }, index) => found.findIndex((other) => other.agent === agent) === index);
  if (different.length === 0) {
    throw new UsageError(
      `'${file}' exports no agent${names === '' ? '' : ` (it exports: ${names})`}. Export what createAgent() gives, or a function that gives it: export default createAgent({ … }). A function of another name is named with --export.`,
    );
  }
  return different.map(({ name, agent }) => ({
    name: nameOf(agent, different.length > 1 ? name : 'default'),
    agent,
    close: () => closed(agent),
  }));
}

/** What a function returns; anything else unchanged. */
function made(exported: unknown, name: string, file: string): Promise<unknown> {
  const make = (): unknown => (typeof exported === 'function' ? Reflect.apply(exported, undefined, []) : exported);
  return ofUser(`'${name}' of '${file}' made no agent`, make);
}

function isAgent(value: unknown): value is Explorable {
  return typeof value === 'object' && value !== null && EXPLORE in value;
}

function nameOf(agent: Explorable, exported: string): string {
  const own: unknown = Reflect.get(agent, 'name');
  const name = typeof own === 'string' ? own : 'agent';
  return exported === 'default' ? name : `${name} (${exported})`;
}

/** Ends the servers that an agent has started. */
async function closed(agent: Explorable): Promise<void> {
  const close: unknown = Reflect.get(agent, 'close');
  if (typeof close === 'function') await Reflect.apply(close, agent, []);
}

const NAME_WIDTH = 14;
const MARK_WIDTH = 8;

/** A verdict as people read it: what is configured, law by law what holds, what was walked, and what is broken. */
export function verdictText(verdict: VerifiedAgent, terminal: Terminal): string {
  const paint = painter(terminal.color);
  const columns = Math.min(terminal.columns(), 100);
  return [
    paint('bold', escaped(verdict.agent)) + paint('dim', `  at most ${counted(verdict.maxSteps, 'step')}`),
    ...verdict.tools.map((tool) => toolLine(tool, verdict.exhaustive, paint)),
    '',
    ...verdict.laws.flatMap((law) => lawLines(law, verdict.exhaustive, { columns, paint })),
    '',
    ...summaryLines(verdict, columns),
    ...verdict.violations.flatMap((violation) => violationLines(violation, { columns, paint })),
    '',
  ].join('\n');
}

interface Layout {
  readonly columns: number;
  readonly paint: Paint;
}

function toolLine({ name, policy, ran }: VerifiedAgent['tools'][number], exhaustive: boolean, paint: Paint): string {
  const never = exhaustive ? 'never runs' : 'did not run';
  return `  ${paint('cyan', escaped(name))}  ${policy}, ${ran ? 'can run' : never}`;
}

function lawLines(
  { name, says, held }: VerifiedAgent['laws'][number],
  exhaustive: boolean,
  layout: Layout,
): readonly string[] {
  const { columns, paint } = layout;
  const [mark, style] = held
    ? ([exhaustive ? 'proven' : 'held', exhaustive ? 'green' : 'yellow'] as const)
    : (['BROKEN', 'red'] as const);
  const indent = 2 + MARK_WIDTH + NAME_WIDTH;
  return wrapText(escaped(says), columns - indent).map((line, index) =>
    index === 0
      ? `  ${paint(style, mark.padEnd(MARK_WIDTH))}${name.padEnd(NAME_WIDTH)}${paint('dim', line)}`
      : `${' '.repeat(indent)}${paint('dim', line)}`,
  );
}

function summaryLines(verdict: VerifiedAgent, columns: number): readonly string[] {
  const { configurations, events, depth, seconds, endings, exhaustive, bounds } = verdict;
  const walked = `${counted(configurations, 'state')}, ${counted(events, 'event')}, the longest path to a state ${counted(depth, 'event')}; ${seconds} s.`;
  const ends = Object.entries(endings)
    .toSorted(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${reason} ${count}`)
    .join(', ');
  const whole = exhaustive
    ? ['Everything that can happen was explored, one of each kind of outcome.']
    : ['Not everything was explored:', ...bounds.map((bound) => `${escaped(bound)}.`)];
  return [walked, `Paths that ended: ${ends === '' ? 'none' : ends}.`, ...whole].flatMap((line) =>
    wrapText(line, columns - 2).map((part) => `  ${part}`),
  );
}

function violationLines(
  { law, message, state, path, file }: VerifiedAgent['violations'][number],
  { columns, paint }: Layout,
): readonly string[] {
  const said = wrapText(`${law}: ${escaped(message)}`, columns - 2).map((line) => `  ${paint('red', line)}`);
  const way = path.map((step, index) => `    ${String(index + 1).padStart(2)}  ${escaped(step)}`);
  return [
    '',
    ...said,
    `  in ${escaped(state)}, reached by this shortest path:`,
    ...way,
    ...(file === null ? [] : [`  The counterexample is a recording: ${escaped(file)}`]),
  ];
}

/** How far the exploration of an agent is. */
export function exploredSoFar(agent: string, { configurations, paths }: ExploreProgress): string {
  return `Exploring ${escaped(agent)}: ${configurations} states, ${paths} paths`;
}
