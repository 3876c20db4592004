import type { RunEvent } from '../../machines/events/run-events.ts';
import type { AgEvent } from './ag-event.ts';
import { readAgMessages } from './ag-messages.ts';
import { serveAgUi } from './ag-server.ts';
import { AgUiFold, type AgNames } from './ag-ui-fold.ts';

/** Runs as AG-UI streams. */
export interface AgUi {
  /** The events of AG-UI for a run's events, of all or of those so far. */
  (events: Iterable<RunEvent>, names?: AgNames): readonly AgEvent[];
  /**
   * Answers a request of AG-UI.
   *
   * @example app.post('/api/ag-ui', (c) => agUi.serve(agent, c.req.raw, { journal, owner: c.get('user') }));
   */
  readonly serve: typeof serveAgUi;
  /** The messages of a thread so far; none if the owner has no such thread. */
  readonly messages: typeof readAgMessages;
}

/** Runs as events of AG-UI 1.0. */
export const agUi: AgUi = /* @__PURE__ */ Object.assign(
  (events: Iterable<RunEvent>, names?: AgNames) => new AgUiFold(names).feed(events),
  { serve: serveAgUi, messages: readAgMessages },
);
