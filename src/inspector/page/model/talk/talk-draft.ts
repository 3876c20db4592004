import type { PlannedStep, Talk, TalkItem, Told } from './talk.ts';

type Kind<K extends TalkItem['kind']> = Extract<TalkItem, { kind: K }>;

/** A conversation while it is made: entries are added at the end and replaced in their places. */
export interface TalkDraft extends Talk {
  add(item: TalkItem): void;
  changeModel(told: Told, change: (item: Kind<'model'>) => Kind<'model'>): void;
  changeCall(told: Told, callId: string, change: (item: Kind<'call'>) => Kind<'call'>): boolean;
  /** Changes the step of the running plan that a call belongs to: its own, else the first of that tool that waits. */
  changePlan(told: Told, call: { readonly callId: string; readonly tool: string }, status: PlannedStep['status']): void;
  /** No further step of the plan will run. */
  closePlan(told: Told): void;
}

/** What every entry begins with. */
export function itemOf({ at, step }: Told): Pick<TalkItem, 'at' | 'step' | 'last'> {
  return { at, step, last: step };
}

/** An empty conversation. */
export function talkDraft(): TalkDraft {
  const items: TalkItem[] = [];
  const calls = new Map<string, number>();
  let model: number | null = null;
  let plan: number | null = null;

  const planItem = (): Kind<'plan'> | null => {
    const item = plan === null ? undefined : items[plan];
    return item?.kind === 'plan' ? item : null;
  };

  return {
    items,
    add: (item) => {
      const place = items.push(item) - 1;
      if (item.kind === 'model') model = place;
      if (item.kind === 'plan') plan = place;
      if (item.kind === 'call') calls.set(item.callId, place);
    },
    changeModel: ({ step }, change) => {
      const item = model === null ? undefined : items[model];
      if (model !== null && item?.kind === 'model') items[model] = { ...change(item), last: step };
    },
    changeCall: ({ step }, callId, change) => {
      const place = calls.get(callId);
      const item = place === undefined ? undefined : items[place];
      if (place === undefined || item?.kind !== 'call') return false;
      items[place] = { ...change(item), last: step };
      return true;
    },
    changePlan: ({ step }, { callId, tool }, status) => {
      const item = planItem();
      if (plan === null || item === null) return;
      const own = item.steps.findIndex((planned) => planned.callId === callId);
      const at = own >= 0 ? own : item.steps.findIndex((planned) => planned.status === 'waiting');
      const planned = item.steps[at];
      if (planned === undefined || (own < 0 && !sameTool(planned.tool, tool))) return;
      items[plan] = { ...item, last: step, steps: item.steps.with(at, { ...planned, status, callId }) };
    },
    closePlan: ({ step }) => {
      const item = planItem();
      if (plan === null || item === null) return;
      const steps = item.steps.map((planned) =>
        planned.status === 'waiting' ? ({ ...planned, status: 'dropped' } as const) : planned,
      );
      items[plan] = { ...item, last: step, steps };
      plan = null;
    },
  };
}

/** A plan may name a tool loosely; what runs has the registered name, which then ends like it. */
function sameTool(planned: string, registered: string): boolean {
  const [short, long] = [planned.toLowerCase(), registered.toLowerCase()];
  return short === long || long.endsWith(`_${short}`);
}
