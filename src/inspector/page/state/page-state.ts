import { computed, signal } from '@preact/signals';
import { actorsAt } from '../model/actor-state.ts';
import { talkAt } from '../model/fold-talk.ts';
import { PageModel, type SessionModel } from '../model/page-model.ts';
import type { Stretch } from '../model/time-scale.ts';
import type { ForkDraft } from './fork-draft.ts';
import type { TalkLog } from '../model/talk.ts';
import type { JsonObject } from '../../../json/json.ts';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Desk } from './desk.ts';

/** What stands on the desk beside the conversation. */
export type DeskTab = 'step' | 'steps' | 'sequence' | 'exchanges' | 'costs' | 'search' | 'compare';

/** A dialog that is open. */
type OpenDialog =
  | { readonly kind: 'help' }
  | { readonly kind: 'send' }
  | { readonly kind: 'fork'; readonly entry: number; readonly outcome: string }
  | { readonly kind: 'sessions' };

/** The part of the page that a narrow screen shows. */
export type Pane = 'chart' | 'time' | 'talk' | 'desk';

/** All that the page remembers. Signals hold what the reader chose; what follows from it is computed. */
export type PageState = ReturnType<typeof pageState>;

/** The newest run; one that cannot be shown in full only where there is no other. */
export function newestOf({ sessions }: PageModel): SessionModel | null {
  const all = [...sessions.values()];
  return all.findLast(({ info }) => info.problem === null) ?? all.at(-1) ?? null;
}

const NO_TALK: TalkLog = { items: [] };

/** An empty page. */
export function pageState() {
  const model = new PageModel();
  const revision = signal(0);
  const chosen = signal<string | null>(null);
  const newest = signal<string | null>(null);
  const other = signal<string | null>(null);
  const cursor = signal<number | null>(null);
  const session = computed(() => {
    void revision.value;
    const find = (id: string | null) => (id === null ? undefined : model.sessions.get(id));
    return find(chosen.value) ?? find(newest.value) ?? newestOf(model);
  });
  const position = computed(() => {
    void revision.value;
    const last = (session.value?.steps.length ?? 0) - 1;
    return Math.min(cursor.value ?? last, last);
  });
  const talk = computed((): TalkLog => {
    void revision.value;
    if (session.value === null) return NO_TALK;
    if (cursor.value !== null) return talkAt(session.value.told, position.value);
    return { items: session.value.talk.items };
  });
  const actors = computed(() => {
    void revision.value;
    return session.value === null ? [] : actorsAt(session.value, position.value);
  });
  model.isShown = (id) => session.peek()?.info.id === id || other.peek() === id;
  return {
    model,
    /** Rises with every batch of frames: what reads the model reads this first. */
    revision,
    /** Rises with `revision`, but for a long run only a few times a second: for what looks at the whole run each time. */
    slowRevision: signal(0),
    /** `refused`: another inspector listens at the address of the one that this page belongs to. */
    link: signal<'connecting' | 'open' | 'lost' | 'refused' | 'saved'>('connecting'),
    /** The run that the user chose; null: the newest, as long as the user is not busy with another. */
    chosen,
    /** The run that is shown if none was chosen. */
    newest,
    /** A run that began while the user was busy with another: it is offered, but not shown. */
    offered: signal<string | null>(null),
    session,
    /** The step that is looked at, a position; null: the latest, whatever comes. */
    cursor,
    position,
    talk,
    actors,
    /** The actor whose chart is large; null: the root. */
    focus: signal<string | null>(null),
    follow: signal(true),
    labels: signal(false),
    tab: signal<DeskTab>('step'),
    pane: signal<Pane>('chart'),
    stretch: signal<Stretch>('elastic'),
    /** Playing at so many times the recorded speed; null: standing. */
    speed: signal<number | null>(null),
    query: signal(''),
    other,
    dialog: signal<OpenDialog | null>(null),
    /** What is being written in the place of an outcome, to fork the run with it. */
    fork: signal<ForkDraft | null>(null),
    /** What was written in answer to calls that wait, by session and call. */
    drafts: new Map<string, AnswerDraft>(),
    /** Messages that were written and not sent yet, by session. */
    messages: new Map<string, string>(),
    /** The latest thing worth saying aloud. */
    notice: signal<{ readonly text: string; readonly tone: 'info' | 'danger' }>({ text: '', tone: 'info' }),
  };
}

/** The run that the one in sight is compared with; null when none was chosen, or it is gone. */
export function otherSession(state: PageState): SessionModel | null {
  void state.revision.value;
  const other = state.other.value === null ? undefined : state.model.sessions.get(state.other.value);
  return other === undefined || other === state.session.value ? null : other;
}

/** Whether two runs are being compared: they then have the room of the conversation too. */
export function isComparing(state: PageState): boolean {
  return state.tab.value === 'compare' && otherSession(state) !== null;
}

/** What the user has written so far in answer to a waiting call. */
export interface AnswerDraft {
  /** What the arguments were edited to; `wrong`: since then to what cannot be approved. Null: they are not being edited. */
  readonly edited: { readonly args: JsonObject; readonly wrong: boolean } | null;
  readonly reason: string;
  /** It is on its way. */
  readonly sent: boolean;
}

export const NO_DRAFT: AnswerDraft = { edited: null, reason: '', sent: false };

/** What every view may use: what the page remembers, and what it can ask the server. */
export interface Page {
  readonly state: PageState;
  readonly desk: Desk;
}

/** Holds the page for all views below it. */
export const PageContext = createContext<Page | null>(null);

/** The page that a view belongs to. Throws outside of one, which is a mistake of ours. */
export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === null) throw new Error('This view stands outside of a page. Wrap it in PageContext.Provider.');
  return page;
}
