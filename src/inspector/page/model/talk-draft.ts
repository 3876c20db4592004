import type { PlannedStep, SaidEvent, Speaker, TalkItem, TalkLog } from './talk.ts';

type Kind<K extends TalkItem['kind']> = Extract<TalkItem, { kind: K }>;

/** A conversation while it is made: entries are added at the end and replaced in their places. */
export interface TalkDraft extends TalkLog {
  /** What every entry begins with. */
  itemOf(told: SaidEvent): Pick<TalkItem, 'at' | 'step' | 'last' | 'by'>;
  add(item: TalkItem): void;
  addModel(told: SaidEvent): void;
  changeModel(told: SaidEvent, change: (item: Kind<'model'>) => Kind<'model'>): void;
  /** The model has got a message, in this step. */
  changeMessage(told: SaidEvent, id: string, delivered: number): void;
  changeCall(told: SaidEvent, callId: string, change: (item: Kind<'call'>) => Kind<'call'>): boolean;
  /** Calls whose ids begin so, and that have not ended, never will. */
  closeCalls(told: SaidEvent, prefix: string): void;
  /** What was asked about a turn of this agent is answered. */
  closeQuestions(told: SaidEvent): void;
  /** Changes the step of the running plan that a call belongs to: its own, else the first of that tool that waits. */
  changePlan(
    told: SaidEvent,
    call: { readonly callId: string; readonly tool: string },
    status: PlannedStep['status'],
  ): void;
  /** No further step of the plan will run. */
  closePlan(told: SaidEvent): void;
}

/** Where the open entries of one agent are. */
interface AgentPlaces {
  readonly by: Speaker | null;
  model: number | null;
  plan: number | null;
}

/** An empty conversation. */
export function talkDraft(): TalkDraft {
  const items: TalkItem[] = [];
  const calls = new Map<string, number>();
  const agents = new Map<string, AgentPlaces>();

  const agentOf = ({ event, agent }: SaidEvent): AgentPlaces => {
    const { child } = event;
    const known = [...agents.values()].findLast(({ by }) => by?.child === child);
    // A token says whose it is, not in which of its calls.
    if (event.type === 'model.token' && known !== undefined) return known;
    const key = agent ?? child ?? '';
    const places = agents.get(key) ?? { by: speaker(child, agent), model: null, plan: null };
    agents.set(key, places);
    return places;
  };
  const change = <K extends TalkItem['kind']>(
    kind: K,
    place: number | null,
    how: (item: Kind<K>) => Partial<Kind<K>>,
  ): void => {
    const item = place === null ? undefined : items[place];
    if (place !== null && isKind(item, kind)) items[place] = { ...item, ...how(item) };
  };
  const changeCalls = (wanted: (item: Kind<'call'>) => boolean, how: Partial<Kind<'call'>>): void => {
    for (const place of calls.values()) change('call', place, (item) => (isOpen(item) && wanted(item) ? how : {}));
  };

  return {
    items,
    itemOf: (told) => ({ at: told.at, step: told.step, last: told.step, by: agentOf(told).by }),
    add: (item) => {
      const place = items.push(item) - 1;
      if (item.kind === 'plan') agentAt(agents, item.by).plan = place;
      if (item.kind === 'call') calls.set(item.callId, place);
    },
    addModel: (told) => {
      const places = agentOf(told);
      const { at, step } = told;
      places.model = items.push({ at, step, last: step, by: places.by, kind: 'model', ...EMPTY_TURN }) - 1;
    },
    changeModel: (told, how) => {
      change('model', agentOf(told).model, (item) => ({ ...how(item), last: told.step }));
    },
    changeMessage: ({ step }, id, delivered) => {
      const place = items.findLastIndex((item) => item.kind === 'message' && item.id === id);
      change('message', place, () => ({ delivered, last: step }));
    },
    changeCall: ({ step }, callId, how) => {
      const place = calls.get(callId);
      if (place !== undefined) change('call', place, (item) => ({ ...how(item), last: step }));
      return place !== undefined;
    },
    closeCalls: ({ step }, prefix) => {
      changeCalls(({ callId }) => callId.startsWith(prefix), { status: 'dropped', last: step });
    },
    closeQuestions: (told) => {
      const { by } = agentOf(told);
      changeCalls((item) => item.by === by && isQuestion(item.callId), { status: 'ok', last: told.step });
    },
    changePlan: (told, { callId, tool }, status) => {
      change('plan', agentOf(told).plan, (item) => {
        const own = item.steps.findIndex((planned) => planned.callId === callId);
        const at = own >= 0 ? own : item.steps.findIndex((planned) => planned.status === 'waiting');
        const planned = item.steps[at];
        if (planned === undefined || (own < 0 && !sameTool(planned.tool, tool))) return {};
        return { last: told.step, steps: item.steps.with(at, { ...planned, status, callId }) };
      });
    },
    closePlan: (told) => {
      const places = agentOf(told);
      change('plan', places.plan, (item) => ({
        last: told.step,
        steps: item.steps.map((planned) =>
          planned.status === 'waiting' ? ({ ...planned, status: 'dropped' } as const) : planned,
        ),
      }));
      places.plan = null;
    },
  };
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
