import { digest } from '../../../json/digest.ts';
import type { Json } from '../../../json/json.ts';
import { abstractionOf } from '../abstraction.ts';
import { callFacts } from '../call-facts.ts';
import type { ExploredRun } from './explored-run.ts';
import { isToolCall } from '../our-machines.ts';

/**
 * What makes two states of a walk the same: the machines' abstraction, what is open, and what the laws remember of the
 * calls under way. `more` is what somebody's own laws depend on; `callsATurn` the most that a model makes at once.
 */
export function keyOf(run: ExploredRun, more: Json, callsATurn: number): string {
  const actors = run.actors();
  const calls = actors
    .filter(({ snapshot }) => isToolCall(snapshot))
    .map(({ path }) => {
      const { runs, brokenChecks, latest, approved, accepted, rejected, edited, always, answer } = callFacts(
        run.story,
        path,
      );
      return [
        Math.min(runs, MANY),
        Math.min(brokenChecks, 1),
        latest,
        approved,
        accepted !== null,
        rejected,
        edited !== null,
        always,
        answer,
      ];
    });
  const open = [...run.open.values()].map(({ name }) => name).sort();
  const changes = run.story.filter((one) => one.kind === 'told' && one.event.type === 'tools.changed').length;
  return digest([abstractionOf(actors, callsATurn), open, calls, changes, more]);
}

const MANY = 9;
