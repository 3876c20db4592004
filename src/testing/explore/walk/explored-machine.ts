import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { type LeafWork, NO_WORK } from '../../../actors/leaf.ts';
import type { Effect } from '../../../actors/journal.ts';
import { EXPLORE, type Explorable } from '../../../journal/replay/replay.ts';
import { drive } from '../../../journal/run/drive.ts';
import type { RunRecord } from '../../../journal/format/record.ts';
import { ROOT_ID, inputOf, runRecord } from '../../../journal/format/run-input.ts';
import { type AgentInput, type AgentSetup, DEFAULT_SETTINGS } from '../../../machines/contract/agent-setup.ts';
import { agentMachine } from '../../../machines/agent/agent.ts';
import { type Json, isJsonObject } from '../../../json/json.ts';
import { described, wrongOption } from '../../../json/known-options.ts';
import { ExplorationError } from './exploration.ts';

/** What is explored: a machine, what it starts from, and the first line of its recordings. */
export interface ExploredMachine {
  readonly machine: AnyStateMachine;
  readonly id: string;
  readonly input: unknown;
  readonly head: RunRecord;
  readonly work: LeafWork;
}

/** Where the first line of a recording comes from when there is no agent. */
interface Given {
  readonly task: string;
  readonly input: unknown;
  readonly maxSteps: number | null;
  readonly agent: Explorable | null;
}

const RUN = { runId: 'explored', at: '2000-01-01T00:00:00.000Z', metadata: {} };

/** Prepares a machine or an agent to be explored; an agent's servers are connected for it. */
export async function exploredMachine(target: AnyStateMachine | Explorable, given: Given): Promise<ExploredMachine> {
  const isAgent = typeof target === 'object' && target !== null && EXPLORE in target;
  if (!isAgent && !isStatechart(target)) {
    const must = 'What is explored must be an agent, or a machine such as agent.machine';
    throw wrongOption(`${must}, and is ${described(target)}.`);
  }
  const agent = isAgent ? target : given.agent;
  const machine = isAgent ? agentMachine : target;
  checkActors(machine, machine.id);
  if (machine.config !== agentMachine.config) {
    const head = {
      ...headOf({ task: machine.id }, null),
      machine: { id: machine.id, version: machine.version ?? '', hash: '' },
    };
    return { machine, id: machine.id, input: given.input, head, work: NO_WORK };
  }
  if (agent !== null) {
    const { head, work } = await agent[EXPLORE](given.task);
    return { machine, id: ROOT_ID, ...headed(fixed(head, given.maxSteps)), work };
  }
  const input = isAgentInput(given.input) ? given.input : { task: given.task };
  const setup = input.setup ?? (await describedBy(machine));
  return { machine, id: ROOT_ID, ...headed(fixed(headOf(input, setup), given.maxSteps)), work: NO_WORK };
}

function headed(head: RunRecord): Pick<ExploredMachine, 'head' | 'input'> {
  return { head, input: inputOf(head) };
}

/** The same exploration gives the same recordings, so nothing of the moment stands in them. */
function fixed(head: RunRecord, maxSteps: number | null): RunRecord {
  const options = { ...head.options, jitterSeed: 0, ...(maxSteps === null ? {} : { maxSteps }) };
  return { ...head, ...RUN, seed: 0, options };
}

function headOf(input: AgentInput, setup: AgentSetup | null): RunRecord {
  return runRecord({ ...input, history: input.history ?? [], setup: setup ?? NO_SETUP }, RUN);
}

const NO_SETUP: AgentSetup = {
  agent: 'agent',
  instructions: '',
  promptByCode: false,
  toolset: { tools: [], servers: [], skills: [], recovery: {} },
  toolCalling: 'native',
  callsNatively: false,
  settings: DEFAULT_SETTINGS,
  seed: 0,
  warnings: [],
  children: [],
  escalates: false,
};

function isAgentInput(input: unknown): input is AgentInput {
  return typeof input === 'object' && input !== null && 'task' in input;
}

/** Asks a bare machine's own actor what agent it is, the one question that is really asked. */
async function describedBy(machine: AnyStateMachine): Promise<AgentSetup | null> {
  const answer = Promise.withResolvers<unknown>();
  const driven = drive({
    logic: machine,
    id: ROOT_ID,
    input: { task: 'explored' },
    recorder: null,
    context: undefined,
    inspect: () => undefined,
    journal: {
      ...IDLE_JOURNAL,
      open: (effect: Effect, perform) => {
        if (effect.name !== 'describeAgent') return;
        const io = { signal: new AbortController().signal, idempotencyKey: effect.key, note: () => undefined };
        void perform(io).then((out) => answer.resolve(out.ok ? out.value : null));
      },
    },
  });
  driven.start();
  const setup = await answer.promise;
  driven.actor.stop();
  return isSetup(setup) ? setup : null;
}

/** A journal that launches nothing and delivers nothing. */
export const IDLE_JOURNAL = {
  open: () => undefined,
  close: () => undefined,
  next: () => Promise.resolve(null),
  end: () => undefined,
};

function isSetup(setup: unknown): setup is AgentSetup {
  return typeof setup === 'object' && setup !== null && 'toolset' in setup && 'settings' in setup;
}

/** Refuses a machine with actors that would act: only leaves and machines can be held at every point. */
function checkActors(machine: AnyStateMachine, where: string): void {
  const provided = Object.entries<unknown>(machine.implementations.actors);
  for (const [name, logic] of [...provided, ...inlineActors(machine.root)]) {
    if (typeof logic !== 'object' || logic === null) continue;
    if (isStatechart(logic)) checkActors(logic, `${where}/${name}`);
    else if (!isHarmless(Reflect.get(logic, 'config')))
      throw new ExplorationError(
        'not-a-leaf',
        `The actor '${name}' of the machine '${where}' is neither a machine nor one of an agent's 'actors', so that it would really act. Provide a machine in its place.`,
      );
  }
}

/** A leaf, or an agent inside another, which is the same machine as the one above it. */
function isHarmless(config: unknown): boolean {
  return typeof config === 'object' && config !== null && ('leaf' in config || 'nests' in config);
}

/** Actors that stand in the drawing itself instead of being provided by name. */
function inlineActors(node: AnyStateNode): readonly (readonly [name: string, logic: unknown])[] {
  const own = [node.config.invoke ?? []].flat().map(({ id, src }) => [id ?? node.id, src] as const);
  return [...own, ...Object.values(node.states).flatMap(inlineActors)];
}

/** True for the logic of a statechart. */
export function isStatechart(logic: unknown): logic is AnyStateMachine {
  return typeof logic === 'object' && logic !== null && 'root' in logic && 'implementations' in logic;
}

/** A machine's input as it can stand in a recording. */
export function jsonInput(input: unknown): Json {
  const json: unknown = JSON.parse(JSON.stringify(input ?? null));
  return isJsonObject(json) ? json : null;
}
