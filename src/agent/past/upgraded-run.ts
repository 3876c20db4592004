import type { RunRecord } from '../../journal/format/record.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { type UpgradeDifferences, upgradeDifferences } from '../../journal/replay/upgrade.ts';
import type { PromptChange } from '../../machines/contract/agent-setup.ts';
import { isJsonObject } from '../../json/json.ts';
import type { AgentCore } from '../core/agent-core.ts';
import { ResumeError } from '../options/agent-errors.ts';
import type { OnUpgrade } from '../options/option-types.ts';

/** How a run that was begun by other code continues. */
export interface Upgraded {
  /** `now`: it gets the tools as they stand, from the next model turn on. `recorded`: it keeps those that it had. */
  readonly tools: 'now' | 'recorded';
  /** Its new prompt; null: the prompt stays as recorded. */
  readonly prompt: PromptChange | null;
}

/**
 * Decides by the option `onUpgrade` how a run continues; `now` is how a run of the agent would begin. Rejects with
 * a `ResumeError` (`upgrade-refused`) if it must not continue.
 */
export async function upgradedRun(core: AgentCore, past: Recording, now: RunRecord): Promise<Upgraded> {
  const found = upgradeDifferences(past, now);
  if (found.differences.length === 0) return { tools: 'now', prompt: null };
  const { onUpgrade } = core.options;
  const choice = onUpgrade === undefined ? null : await chosen(onUpgrade, past.head, { found, now });
  if (choice === 'refuse' || (choice === null && found.forbidding.length > 0))
    throw new ResumeError('upgrade-refused', past.head.runId, {
      differences: [...found.forbidding, ...found.differences],
    });
  if (choice === 'current') {
    const { instructions, promptByCode: byCode } = now;
    return { tools: 'now', prompt: found.isPromptOther ? { instructions, byCode } : null };
  }
  return {
    tools: choice === 'recorded' ? 'recorded' : 'now',
    // The output of the old code is kept; the code itself has changed.
    prompt: past.head.promptByCode && found.isPromptOther ? lastPrompt(past) : null,
  };
}

const CHOICES: readonly unknown[] = ['refuse', 'recorded', 'current'];

async function chosen(
  onUpgrade: OnUpgrade,
  head: RunRecord,
  { found: { forbidding, differences }, now }: { readonly found: UpgradeDifferences; readonly now: RunRecord },
) {
  if (typeof onUpgrade === 'string') return onUpgrade;
  const version = { recorded: head.version ?? null, current: now.version ?? null };
  const told = {
    runId: head.runId,
    version,
    differences: [...forbidding, ...differences],
    fits: forbidding.length === 0,
  };
  const choice = await onUpgrade(told);
  if (CHOICES.includes(choice)) return choice;
  throw new TypeError(
    `onUpgrade must return 'refuse', 'recorded' or 'current', and returned ${JSON.stringify(choice)}.`,
  );
}

/** The prompt that code made last in a recording; null before the first. */
function lastPrompt({ lines }: Recording): PromptChange | null {
  const made = lines.findLast((line) => line.t === 'outcome' && line.ok && MADE.test(line.id));
  const texts: unknown = made?.t === 'outcome' && made.ok ? made.value : null;
  if (!isJsonObject(texts) || typeof texts.native !== 'string' || typeof texts.json !== 'string') return null;
  return { native: texts.native, json: texts.json };
}

const MADE = /^agent\/composePrompt#\d+$/;
