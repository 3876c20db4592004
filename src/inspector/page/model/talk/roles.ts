import { lastUpTo } from '../time/last-up-to.ts';
import type { ActorTrack, SessionModel } from '../session-model.ts';

/** What a comparison needs to know of a run. */
export type ComparedRun = Pick<SessionModel, 'steps' | 'actors' | 'told' | 'records'>;

/** An actor in one of its lives. */
interface Player {
  readonly role: string;
  /** The tools that lead to it from the root, joined with `/`. */
  readonly tools: string;
}

/**
 * Who made each step, in words that mean the same in another run: a call is named by its tool, because its id only counts
 * calls, and one retry more would shift all that follow. Of calls of one tool that go on side by side the second is `·2`.
 */
export function rolesOf({ steps, actors, told }: ComparedRun): readonly string[] {
  const toolAt = toolsOf(told);
  const players = new Map<string, Player[]>();
  const going = new Map<string, { readonly until: number }[]>();
  const beginnings = [...actors.values()]
    .flatMap((track) => track.lives.map((life, index) => ({ track, life, index })))
    .toSorted(
      (one, other) => one.life.from - other.life.from || one.track.info.path.length - other.track.info.path.length,
    );
  for (const { track, life, index } of beginnings) {
    const { path, parent, src } = track.info;
    const above = parent === null ? undefined : players.get(parent)?.[lifeAt(actors.get(parent), life.from)];
    const until = life.to ?? steps.length;
    const tool =
      src === 'toolCall' ? toolAt(above?.tools ?? '', path.slice(path.lastIndexOf('/') + 1), life.from, until) : null;
    const name = `${above === undefined ? '' : `${above.role}/`}${tool ?? src}`;
    const beside = (going.get(name) ?? []).filter((one) => one.until >= life.from);
    going.set(name, [...beside, { until }]);
    const role = beside.length === 0 ? name : `${name}·${beside.length + 1}`;
    const tools = tool === null ? (above?.tools ?? '') : joined(above?.tools ?? '', tool);
    const lives = players.get(path) ?? [];
    lives[index] = { role, tools };
    players.set(path, lives);
  }
  return steps.map(({ actor }, position) => players.get(actor)?.[lifeAt(actors.get(actor), position)]?.role ?? actor);
}

/** Finds the tool of a call: by its id, or, of a step in a plan, by what was called while it went on. */
function toolsOf(told: ComparedRun['told']) {
  const byId = new Map<string, string>();
  const calls: { readonly step: number; readonly child: string; readonly tool: string }[] = [];
  for (const { event, step } of told) {
    if (!('callId' in event) || !('tool' in event)) continue;
    const child = event.child ?? '';
    byId.set(`${child}|${event.callId}`, event.tool);
    calls.push({ step, child, tool: event.tool });
  }
  return (child: string, id: string, from: number, until: number): string | null => {
    const known = byId.get(`${child}|${id}`);
    if (known !== undefined) return known;
    for (let at = lastUpTo(calls.length, (index) => calls[index]?.step, from - 1) + 1; at < calls.length; at++) {
      const call = calls[at];
      if (call === undefined || call.step > until) return null;
      if (call.child === child) return call.tool;
    }
    return null;
  };
}

function lifeAt(track: ActorTrack | undefined, position: number): number {
  const lives = track?.lives ?? [];
  return lastUpTo(lives.length, (index) => lives[index]?.from, position);
}

function joined(one: string, other: string): string {
  return one === '' ? other : `${one}/${other}`;
}
