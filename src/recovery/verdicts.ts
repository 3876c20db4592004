import type { EscalationError, Severity } from '../json/errors.ts';
import { wrongOption } from '../json/known-options.ts';

/** What to do about an escalation: data, so that it is recorded and replayed. Models and agents are given by name. */
export type Verdict =
  | { readonly kind: 'retryWithModel'; readonly model: string }
  | { readonly kind: 'reroute'; readonly to: 'skill' | 'agent'; readonly name: string }
  | { readonly kind: 'partialResult'; readonly text: string }
  | { readonly kind: 'askHuman'; readonly question: string }
  | { readonly kind: 'escalate'; readonly reason: string; readonly severity: Severity }
  | { readonly kind: 'throwException'; readonly reason: string };

/** The verdicts that `onEscalation` chooses from. Each throws a `TypeError` for a name or object that is not one of the agent's. */
export interface Verdicts {
  /** Asks the failed turn again, once, of another model: a name of the option `models`, one of its models, or a preset. */
  retryWithModel(model: string | object): Verdict;
  /** A skill limits the rest of the run to its tools and instructions; a child agent is handed the whole task. */
  reroute(to: string | object): Verdict;
  /** Ends the run as `stopped`, with this text as its result. */
  partialResult(text: string): Verdict;
  /** Asks a person, as for an approval; the model continues with the answer. */
  askHuman(question: string): Verdict;
  /** Hands it on to the agent above. The severity only rises. Default: the error's own reason and severity. */
  escalate(reason?: string, severity?: string): Verdict;
  /** Ends the whole run as `thrown`. Default: the error's own reason. */
  throwException(reason?: string): Verdict;
}

/** Decides about an escalation. `null` or nothing: not handled here, the agent above is asked. */
export type OnEscalation = (
  error: EscalationError,
  to: Verdicts,
) => Verdict | null | undefined | Promise<Verdict | null | undefined>;

/** How an agent finds what a verdict names. Each gives a name, or null for what is not its own. */
export interface VerdictNames {
  readonly model: (given: string | object) => string | null;
  readonly place: (given: string | object) => { readonly to: 'skill' | 'agent'; readonly name: string } | null;
}

/** The verdicts for one escalation. */
export function verdictsFor(error: EscalationError, names: VerdictNames): Verdicts {
  return {
    retryWithModel: (model) => ({ kind: 'retryWithModel', model: known(names.model(model), 'retryWithModel', model) }),
    reroute: (to) => ({ kind: 'reroute', ...known(names.place(to), 'reroute', to) }),
    partialResult: (text) => ({ kind: 'partialResult', text }),
    askHuman: (question) => ({ kind: 'askHuman', question }),
    escalate: (reason = error.reason, severity = error.severity) => ({
      kind: 'escalate',
      reason,
      severity: higher(error.severity, checkSeverity('to.escalate()', severity)),
    }),
    throwException: (reason = error.reason) => ({ kind: 'throwException', reason }),
  };
}

/** What each verdict says, where it says something. */
const SAID = { partialResult: 'text', askHuman: 'question', escalate: 'reason', throwException: 'reason' } as const;

/** Rejects a verdict whose text is not a string. */
export function checkVerdict(verdict: Verdict | null | undefined): Verdict | null {
  for (const [kind, name] of Object.entries(SAID))
    if (verdict?.kind === kind && typeof Reflect.get(verdict, name) !== 'string')
      throw wrongOption(`to.${kind}(): ${name} must be text.`);
  return verdict ?? null;
}

function known<T>(found: T | null, verdict: string, given: string | object): T {
  if (found !== null) return found;
  const name = typeof given === 'string' ? `'${given}'` : 'that object';
  const must =
    verdict === 'reroute'
      ? 'a skill or a child of this agent, or the name of one'
      : 'one of the option models, or the name of one or of a preset';
  throw wrongOption(`to.${verdict}(): ${name} is not known here. Give ${must}.`);
}

/** All severities, from the mildest on. */
export const SEVERITIES: readonly Severity[] = ['low', 'medium', 'high', 'critical'];

/** Reads a severity that a model wrote, whatever its case; anything else counts as high. */
export function readSeverity(given: unknown): Severity {
  return severityOf(given) ?? 'high';
}

/** Reads a severity that a program gave, whatever its case. Throws a `TypeError` that names `owner` for anything else. */
export function checkSeverity(owner: string, given: unknown): Severity {
  const severity = severityOf(given);
  if (severity !== undefined) return severity;
  throw wrongOption(`${owner}: severity must be ${SEVERITIES.join(', ')}, and is ${JSON.stringify(given)}.`);
}

/** The worse of two severities. */
export function higher(a: Severity, b: Severity): Severity {
  return SEVERITIES.indexOf(a) >= SEVERITIES.indexOf(b) ? a : b;
}

function severityOf(given: unknown): Severity | undefined {
  const lower = typeof given === 'string' ? given.toLowerCase() : '';
  return SEVERITIES.find((severity) => severity === lower);
}
