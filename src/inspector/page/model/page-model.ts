import type { Frame, MachineDrawing } from '../../frames/protocol.ts';
import { PROTOCOL } from '../../frames/protocol.ts';
import { type SessionFold, foldSession } from './fold-session.ts';
import type { SessionModel } from './session-model.ts';

/** All that the page knows. */
export interface PageModel {
  /** What the server said of itself; null before it said anything. */
  readonly server: { readonly version: string; readonly live: boolean; readonly newer: boolean } | null;
  readonly drawings: ReadonlyMap<string, MachineDrawing>;
  /** In order of appearance. */
  readonly sessions: ReadonlyMap<string, SessionModel>;
  /** Takes in one frame. Frames of a session that was never announced are dropped. */
  add(frame: Frame): void;
}

/** An empty model. It folds frames in the order in which the server sent them; a frame that comes twice changes nothing. */
export function pageModel(): PageModel {
  const drawings = new Map<string, MachineDrawing>();
  const folds = new Map<string, SessionFold>();
  const sessions = new Map<string, SessionModel>();
  let server: PageModel['server'] = null;

  const add = (frame: Frame): void => {
    switch (frame.t) {
      case 'hello':
        server = { version: frame.version, live: frame.live, newer: frame.protocol > PROTOCOL };
        return;
      case 'drawing':
        drawings.set(frame.drawing.hash, frame.drawing);
        return;
      case 'session': {
        const known = folds.get(frame.session.id);
        if (known !== undefined) return known.describe(frame.session);
        const fold = foldSession(frame.session);
        folds.set(frame.session.id, fold);
        sessions.set(frame.session.id, fold.model);
        return;
      }
      default:
        folds.get(frame.session)?.add(frame);
    }
  };

  return {
    get server() {
      return server;
    },
    drawings,
    sessions,
    add,
  };
}
