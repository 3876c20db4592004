import { wrongOption } from '../../json/known-options.ts';
import type { OwnRedactor } from '../../actors/redactor.ts';
import { toJson } from '../../json/to-json.ts';
import { continuedJournal } from '../../journal/replay/continued-journal.ts';
import { cutRecording, outcomesOf } from '../../journal/format/cut-recording.ts';
import type { ForkOptions } from '../../journal/replay/fork.ts';
import type { Carried } from '../../journal/run/run-journal.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import { stuckBehind } from '../../journal/replay/recording-player.ts';
import { recordedRest } from '../../journal/replay/recorded-rest.ts';
import { lastKnown, runnable } from '../../journal/format/recorded-tools.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { definitionHash } from '../../journal/format/run-input.ts';
import { defined, isJsonObject } from '../../json/json.ts';
import { launchRun } from '../run/launch-run.ts';
import { type LiveRuns, restartNews } from './live-runs.ts';
import { replayHead } from '../core/own-port.ts';
import { checkSignal } from '../options/check-options.ts';
import { newRunId, withoutConversation, type ForkRunOptions } from '../options/run-options.ts';
import type { AnyRun } from '../run/run.ts';

/** Starts a separate run from a point of a recorded one. Throws a `TypeError` for an invalid point. */
export function forkRun(live: LiveRuns, recording: Recording, options: ForkRunOptions): AnyRun {
  const { core } = live;
  const { input, outcome, then = 'live', missing = 'live', runId = newRunId(), context, signal, inspect } = options;
  checkSignal('fork', signal);
  const at = options.at ?? (input === undefined ? Number.NaN : 1);
  if (Number.isNaN(at))
    throw wrongOption("fork: option 'at' must be given: the number of the last record that both runs share.");
  const cut = cutRecording(runnable(recording), at, outcome);
  const stuck = outcome === undefined ? null : stuckBehind(cut.past);
  if (stuck !== null) throw wrongOption(stuck);
  const redactor = core.redaction.redactorOf(recording);
  const place = { at: cut.past.lines.at(-1), entry: cut.entry };
  const head = forkHead(live, recording.head, { ...options, ...place, runId, redactor });
  const past: Recording = { head, lines: cut.past.lines };
  let known = lastKnown(past);
  // Of a fork at the head nothing is played again: it begins as any run does.
  let played = past.lines.length > 0;
  const started = launchRun(core, {
    runId,
    task: head.input,
    given: { context, ...defined({ signal, inspect }) },
    replayed: () => played,
    resumable: core.journal().take !== undefined,
    redactor: () => redactor,
    prepare: async (stop) => {
      await live.ready(stop);
      return (why) => ({
        head,
        work: core.work(),
        journal: (accepts) => {
          const journal = continuedJournal({
            past,
            state: () => started.run.state.state,
            tolerance: { allow: [], anyRequest: true, now: head, recorded: recording.head },
            kind: 'copied',
            known: outcomesOf(cut.rest),
            news: async (restart) => {
              const tools = then === 'live' ? 'now' : 'recorded';
              const news = await restartNews(core, { past, tools, restart, redact: redactor.redact });
              known = news.known;
              return news.event;
            },
            goOn: (carried) => {
              const opened = (open: Carried) => core.journal().open({ head, accepts, carried: open });
              return then === 'live'
                ? opened(carried)
                : recordedRest(opened, { lines: cut.rest, missing, accepts, carried });
            },
            onLive: () => {
              played = false;
              if (then === 'live') live.follow(started, known, redactor);
            },
          });
          if (why !== undefined) void journal.send({ type: 'run.cancelled', reason: redactor.redact(why) });
          return journal;
        },
      });
    },
    onDone: () => live.forget(started),
  });
  live.add(started);
  return started.run;
}

interface ForkHead extends Pick<ForkOptions, 'input' | 'metadata'> {
  readonly runId: string;
  /** The last record of the shared part. */
  readonly at: Recording['lines'][number] | undefined;
  readonly entry: number;
  readonly redactor: OwnRedactor;
}

function forkHead(
  { core }: LiveRuns,
  recorded: RunRecord,
  { runId, at, entry, input, metadata, redactor }: ForkHead,
): RunRecord {
  const {
    cancelled: _cancelled,
    refused: _refused,
    ...rest
  } = replayHead(recorded, core, at === undefined ? 'stricter' : 'recorded', redactor);
  const json = toJson(metadata ?? {});
  if (!json.ok || !isJsonObject(json.value)) throw wrongOption("fork: option 'metadata' must be a JSON object.");
  if (input !== undefined && (typeof input !== 'string' || input.trim() === ''))
    throw wrongOption("fork: option 'input' must be a text that is not blank.");
  // Another task takes the place of the images and files, too.
  const { content: _content, ...ofText } = rest;
  // Time continues from the cut, so that waits that began before it last as long as they should.
  const age = at === undefined || at.t === 'run' ? 0 : at.at;
  const forked = {
    ...(input === undefined ? rest : ofText),
    runId,
    at: new Date(Date.now() - age).toISOString(),
    machine: { ...recorded.machine, hash: definitionHash() },
    input: input ?? rest.input,
    metadata: withoutConversation(metadata === undefined ? rest.metadata : json.value),
    parent: { runId: recorded.runId, entry },
  };
  return core.redaction.redacted(forked, redactor);
}
