import type { OwnRedactor } from '../../actors/redactor.ts';
import type { AgentCore } from '../core/agent-core.ts';
import { readInput } from '../options/input-parts.ts';
import { repairedHistory } from '../options/agent-settings.ts';
import { metadataOf } from '../options/run-options.ts';
import { type EngineRun, WAITS } from './engine-port.ts';
import { launchRun } from './launch-run.ts';
import { newHead } from './new-head.ts';
import type { AnyRun } from './run.ts';

/**
 * Drives one attempt at a run whose past an engine keeps. Each attempt begins at the head: what happened before comes
 * from the engine's journal, as if it happened now. Throws a `TypeError` for an invalid input.
 */
export function engineRun(core: AgentCore, engine: EngineRun): AnyRun {
  const { runId, history = [], maxSteps, context, traceparent } = engine;
  const input = readInput(engine.input);
  const opened = { history: repairedHistory(history), queued: [] };
  const metadata = metadataOf(engine.metadata);
  let redactor: OwnRedactor = core.redaction.separate();
  const { run } = launchRun(core, {
    runId,
    task: input.task,
    given: { context, ...(traceparent === undefined ? {} : { traceparent }) },
    replayed: engine.replayed,
    // Only the engine resumes it.
    resumable: false,
    redactor: () => redactor,
    prepare: async (signal) => {
      const makeSetup = await core.prepare({ ...(maxSteps === undefined ? {} : { maxSteps }), signal });
      let isNew = false;
      const head = await engine.head(() => {
        isNew = true;
        return newHead(core, { runId, input, opened, setup: makeSetup(), metadata, redactor });
      });
      // An attempt before this one gave the marks, perhaps in another process.
      if (!isNew) redactor = core.redaction.redactorOf({ head, lines: [] });
      return () => ({
        head,
        work: core.work({ output: null, onWait }),
        journal: (accepts, _place, waiting) =>
          engine.journal({
            head,
            accepts,
            waiting,
            view: () => ({
              path: run.state.path,
              stepsTaken: run.state.stepsTaken,
              // It is this process that waits for a sign-in, not the run.
              pending: run.pending.filter(({ login }) => login === undefined),
            }),
            redact: (value) => redactor.redact(value),
            reserve: (value) => redactor.reserve(value),
          }),
      });
    },
    onDone: (result) => engine.onDone(result),
  });
  return run;
}

function onWait(): never {
  throw Object.assign(new Error('An event from outside answers.'), { code: WAITS });
}
