import { callLlm } from '../../actors/call-llm.ts';
import { type LeafWork, workOf } from '../../actors/leaf.ts';
import type { Model } from '../../actors/model.ts';
import { MARKS_ONLY } from '../../actors/redactor.ts';
import { continuedJournal } from '../../journal/replay/continued-journal.ts';
import { cutRecording, outcomesOf } from '../../journal/format/cut-recording.ts';
import { liveJournal } from '../../journal/run/live-journal.ts';
import { runnable } from '../../journal/format/recorded-tools.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { Playback } from '../../journal/replay/playback.ts';
import { replayJournal } from '../../journal/replay/replay-journal.ts';
import type { ReplayOptions, ReplayPoint } from '../../journal/replay/replay.ts';
import type { AgentCore } from '../core/agent-core.ts';
import { restartNews } from './live-runs.ts';
import { policiesFor, replayHead } from '../core/own-port.ts';
import type { AnyRun } from '../run/run.ts';
import { startRun } from '../run/start-run.ts';

/** Replays a recording on an agent; with `then` in the options, a model answers after the recorded part. */
export function replayRun(core: AgentCore, recording: Recording, options: ReplayOptions): AnyRun {
  const { allow = [], until, then, context } = options;
  runnable(recording);
  const own = replayHead(recording.head, core, then === undefined ? policiesFor(recording) : 'recorded');
  const { instructions, promptByCode } = allow.includes('prompt') ? recording.head : own;
  const head = { ...own, instructions, promptByCode };
  const tolerance = { allow, now: head };
  const past = typeof until === 'number' ? cutRecording(recording, until).past : recording;
  let played = true;
  const started = startRun({
    run: { runId: head.runId, task: head.input, given: { context } },
    replayed: () => played,
    redactor: MARKS_ONLY,
    onDone: () => undefined,
    prepare: () => () => ({
      head,
      work: then === undefined ? core.work() : answeredBy(then, core.work()),
      journal: (accepts, place) => {
        const state = (): string => started.run.state.state;
        if (then === undefined) return replayJournal(new Playback(recording, state, tolerance));
        const isOver = untilOf(until);
        return continuedJournal({
          past,
          state,
          tolerance,
          ...(isOver && { until: (entry) => isOver({ entry, state: place() }) }),
          kind: 'copied',
          known: outcomesOf(recording.lines),
          news: async (restart) => {
            const known = { past: { head, lines: past.lines }, tools: 'recorded' as const, restart };
            return (await restartNews(core, { ...known, redact: MARKS_ONLY.redact })).event;
          },
          goOn: (carried) => liveJournal({ head, accepts, carried }, null),
          onLive: () => {
            played = false;
          },
        });
      },
    }),
  });
  return started.run;
}

/** Where the recorded part ends before its last record; a number of one is where it was cut. */
function untilOf(until: ReplayOptions['until']): ((point: ReplayPoint) => boolean) | undefined {
  if (typeof until === 'string') return ({ state }) => state === until || state.startsWith(`${until}.`);
  return typeof until === 'function' ? until : undefined;
}

function answeredBy(model: Model, work: LeafWork): LeafWork {
  const answer = workOf(callLlm({ model: () => model }));
  return (name) => (name === 'callLlm' ? answer : work(name));
}
