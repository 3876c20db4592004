import type { PlannedStep, SaidEvent, Speaker, TalkItem, TalkLog } from './talk.ts';

type Kind<K extends TalkItem['kind']> = Extract<TalkItem, { kind: K }>;

/** Where the open entries of one agent are. */
interface AgentPlaces {
  readonly by: Speaker | null;
  model: number | null;
  plan: number | null;
}

/** A conversation while it is made: entries are added at the end and replaced in their places. */
export class TalkDraft implements TalkLog {
  readonly items: TalkItem[];
  /** Where each call is. */
  #calls = new Map<string, number>();
  /** Where calls are that have not ended. */
  #open = new Set<number>();
  #agents = new Map<string, AgentPlaces>();

  constructor(items: TalkItem[] = []) {
    this.items = items;
  }

  /** A draft that continues from here, and leaves this one alone. */
  copy(): TalkDraft {
    const copy = new TalkDraft([...this.items]);
    copy.#calls = new Map(this.#calls);
    copy.#open = new Set(this.#open);
    copy.#agents = new Map([...this.#agents].map(([key, places]) => [key, { ...places }]));
    return copy;
  }

  /** What every entry begins with. */
  itemOf(told: SaidEvent): Pick<TalkItem, 'at' | 'step' | 'last' | 'by'> {
    return { at: told.at, step: told.step, last: told.step, by: this.#agentOf(told).by };
  }

  add(item: TalkItem): void {
    const place = this.items.push(item) - 1;
    if (item.kind === 'plan') agentAt(this.#agents, item.by).plan = place;
    if (item.kind !== 'call') return;
    this.#calls.set(item.callId, place);
    this.#noteOpen(place, item);
  }

  addModel(told: SaidEvent): void {
    const places = this.#agentOf(told);
    const { at, step } = told;
    this.#closeTurn(places, told);
    places.model = this.items.push({ at, step, last: step, by: places.by, kind: 'model', ...EMPTY_TURN }) - 1;
  }

  changeModel(told: SaidEvent, how: (item: Kind<'model'>) => Kind<'model'>): void {
    this.#change('model', this.#agentOf(told).model, (item) => ({ ...how(item), last: told.step }));
  }

  /** The model has got a message, in this step. */
  changeMessage({ step }: SaidEvent, id: string, delivered: number): void {
    const place = this.items.findLastIndex((item) => item.kind === 'message' && item.id === id);
    this.#change('message', place, () => ({ delivered, last: step }));
  }

  changeCall({ step }: SaidEvent, callId: string, how: (item: Kind<'call'>) => Kind<'call'>): boolean {
    const place = this.#calls.get(callId);
    if (place !== undefined) this.#change('call', place, (item) => ({ ...how(item), last: step }));
    return place !== undefined;
  }

  /** Calls whose ids begin so, and that have not ended, never will. */
  closeCalls({ step }: SaidEvent, prefix: string): void {
    this.#changeOpen(({ callId }) => callId.startsWith(prefix), { status: 'dropped', last: step });
  }

  /** No reply comes to turns of agents that work on this call or below it; `prefix` as in `closeCalls`. */
  closeTurns(told: SaidEvent, prefix: string): void {
    for (const places of this.#agents.values())
      if (`${places.by?.call ?? ''}.`.startsWith(prefix)) this.#closeTurn(places, told);
  }

  /** What was asked about a turn of this agent is over. */
  closeQuestions(told: SaidEvent, answer: 'yes' | 'no' | 'none' = 'yes'): void {
    const { by } = this.#agentOf(told);
    const denied = { status: 'denied', reason: answer === 'no' ? 'The answer was no.' : 'Nobody answered.' } as const;
    const end = answer === 'yes' ? { status: 'ok' as const } : denied;
    this.#changeOpen((item) => item.by === by && isQuestion(item.callId), { ...end, last: told.step });
  }

  /** Changes the step of the running plan that a call belongs to: its own, else the first of that tool that waits. */
  changePlan(
    told: SaidEvent,
    { callId, tool }: { readonly callId: string; readonly tool: string },
    status: PlannedStep['status'],
  ): void {
    this.#change('plan', this.#agentOf(told).plan, (item) => {
      const own = item.steps.findIndex((planned) => planned.callId === callId);
      const at = own >= 0 ? own : item.steps.findIndex((planned) => planned.status === 'waiting');
      const planned = item.steps[at];
      if (planned === undefined || (own < 0 && !sameTool(planned.tool, tool))) return {};
      return { last: told.step, steps: item.steps.with(at, { ...planned, status, callId }) };
    });
  }

  /** No further step of the plan will run. */
  closePlan(told: SaidEvent): void {
    const places = this.#agentOf(told);
    this.#change('plan', places.plan, (item) => ({
      last: told.step,
      steps: item.steps.map((planned) =>
        planned.status === 'waiting' ? ({ ...planned, status: 'dropped' } as const) : planned,
      ),
    }));
    places.plan = null;
  }

  #closeTurn({ model }: AgentPlaces, { at, step }: SaidEvent): void {
    this.#change('model', model, ({ endedAt }) => (endedAt === null ? { endedAt: at, last: step } : {}));
  }

  #agentOf({ event, agent }: SaidEvent): AgentPlaces {
    const { child } = event;
    // A token names its agent, not the call.
    const known =
      event.type === 'model.token' ? [...this.#agents.values()].findLast(({ by }) => by?.child === child) : undefined;
    if (known !== undefined) return known;
    const key = agent ?? child ?? '';
    const places = this.#agents.get(key) ?? { by: speaker(child, agent), model: null, plan: null };
    this.#agents.set(key, places);
    return places;
  }

  #change<K extends TalkItem['kind']>(kind: K, place: number | null, how: (item: Kind<K>) => Partial<Kind<K>>): void {
    const item = place === null ? undefined : this.items[place];
    if (place === null || !isKind(item, kind)) return;
    const changed: TalkItem = { ...item, ...how(item) };
    this.items[place] = changed;
    if (changed.kind === 'call') this.#noteOpen(place, changed);
  }

  #changeOpen(wanted: (item: Kind<'call'>) => boolean, how: Partial<Kind<'call'>>): void {
    for (const place of this.#open) this.#change('call', place, (item) => (wanted(item) ? how : {}));
  }

  #noteOpen(place: number, item: Kind<'call'>): void {
    if (isOpen(item)) this.#open.add(place);
    else this.#open.delete(place);
  }
}

function agentAt(agents: ReadonlyMap<string, AgentPlaces>, by: Speaker | null): AgentPlaces {
  return [...agents.values()].find((one) => one.by === by) ?? { by, model: null, plan: null };
}

/** The child agent that an event is about: `child` is its place in the tree, `path` that of its actor. */
function speaker(child: string | undefined, path: string | undefined): Speaker | null {
  if (child === undefined) return null;
  const parts = child.split('/');
  const call = path?.split('/').at(-2);
  return { child, name: parts.at(-1) ?? child, depth: parts.length, path: path ?? null, call: call ?? null };
}

function isKind<K extends TalkItem['kind']>(item: TalkItem | undefined, kind: K): item is Kind<K> {
  return item?.kind === kind;
}

function isOpen({ status }: Kind<'call'>): boolean {
  return status === 'waiting' || status === 'running';
}

/** A plan may name a tool loosely; what runs has the registered name, which then ends like it. */
function sameTool(planned: string, registered: string): boolean {
  const [short, long] = [planned.toLowerCase(), registered.toLowerCase()];
  return short === long || long.endsWith(`_${short}`);
}

/** A turn of the model that has just begun. */
const EMPTY_TURN = {
  thought: '',
  goal: '',
  answer: '',
  raw: '',
  attempt: 1,
  retries: [],
  replied: null,
  replyStep: null,
  endedAt: null,
} as const;

/** The ids of questions about a turn; calls have a `c` before their number. */
export function isQuestion(callId: string): boolean {
  return /(?:^|\.)c?q\d+$/.test(callId);
}
