import type { Model } from '../../actors/model.ts';
import { readModelName } from '../../models/endpoint/presets.ts';
import type { EscalationError } from '../../json/errors.ts';
import { type Verdict, checkVerdict, verdictsFor } from '../../recovery/verdicts.ts';
import { CHILD } from '../options/option-types.ts';
import type { Children } from './child-port.ts';
import type { AgentOptions } from '../options/agent-options.ts';
import type { OwnRegistry } from '../tools/registry.ts';

/** Where the names and objects of verdicts are looked up. */
interface Known {
  readonly options: AgentOptions;
  readonly models: ReadonlyMap<string, Model>;
  readonly registry: OwnRegistry;
  readonly children: Children;
}

/** Asks the author's `onEscalation`; what it names must be this agent's. */
export async function decideBy(known: Known, error: EscalationError): Promise<Verdict | null> {
  const { onEscalation } = known.options;
  if (onEscalation === undefined) return null;
  const to = verdictsFor(error, {
    model: (given) => modelName(known, given),
    place: (given) => placeNamed(known, given),
  });
  return checkVerdict(await onEscalation(error, to));
}

function modelName({ options, models }: Known, given: string | object): string | null {
  if (typeof given !== 'string')
    return Object.entries(options.models ?? {}).find(([, model]) => model === given)?.[0] ?? null;
  return models.has(given) || readModelName(given) !== undefined ? given : null;
}

function placeNamed(
  { registry, children }: Known,
  given: string | object,
): { readonly to: 'skill' | 'agent'; readonly name: string } | null {
  if (typeof given !== 'string') {
    const port: unknown = Reflect.get(given, CHILD);
    const child = [...children].find(([, one]) => one === port);
    if (child !== undefined) return { to: 'agent', name: child[0] };
    const name: unknown = Reflect.get(given, 'name');
    return typeof name === 'string' && registry.skill(name) === given ? { to: 'skill', name } : null;
  }
  if (registry.skill(given) !== undefined) return { to: 'skill', name: given };
  return children.has(given) ? { to: 'agent', name: given } : null;
}
