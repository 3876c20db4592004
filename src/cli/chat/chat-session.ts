import type { Message } from '../../actors/model.ts';
import type { Agent } from '../../agent/agent-types.ts';
import type { Run } from '../../agent/run/run.ts';
import { type RunSummary, selectRuns } from '../../journal/format/tally.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { escaped } from '../../output/console/escaped.ts';
import type { ChosenJournal } from '../agent/make-agent.ts';
import { UsageError } from '../command/command.ts';

/** What a chat continues: the agent's own conversation, in memory, or a named one, in the journal. */
export interface Talk {
  run(text: string, how: { readonly signal: AbortSignal }): Run;
  history(): Promise<readonly Message[]>;
  /** The next question begins a new conversation. */
  forget(): Promise<void>;
}

/** The conversation of an agent itself. */
export function ownTalk(agent: Agent): Talk {
  return {
    run: (text, how) => agent.run(text, how),
    history: () => Promise.resolve(agent.history),
    forget: () => Promise.resolve(agent.clearHistory()),
  };
}

/** A conversation with a name, before there is an agent for it. */
export type ChatSession = ReturnType<typeof findSession>;

/** Finds a named conversation. Throws a {@link UsageError} where none can be kept. */
export function findSession(name: string, chosen: ChosenJournal) {
  const { list, read } = chosen.journal;
  if (chosen.kind === 'memory' || list === undefined || read === undefined)
    throw new UsageError('--session needs a folder in which runs can be kept, and does not go with --record.');
  if (name.trim() === '') throw new UsageError('--session: the name is empty.');
  const forgotten = new Set<string>();
  const journal: JournalStore = {
    ...chosen.journal,
    list: async (query = {}) => {
      if (query.metadata?.conversation !== name) return list(query);
      const { limit, ...rest } = query;
      const all = limit === undefined || forgotten.size > 0 ? rest : query;
      // Earlier versions wrote the name as `session`.
      const found = await Promise.all([list(all), list({ ...all, metadata: { session: name } })]);
      const known = found.flat().filter(({ runId }) => !forgotten.has(runId));
      return selectRuns(known, limit === undefined ? {} : { limit });
    },
  };
  return {
    name,
    /** Where its agent has to keep its runs. */
    journal: { ...chosen, journal },
    talk(agent: Agent): Talk {
      const conversation = agent.conversation(name);
      return {
        run: (text, how) => conversation.run(text, how),
        history: () => conversation.history,
        async forget() {
          for (const { runId } of await conversation.runs()) forgotten.add(runId);
        },
      };
    },
  };
}

/** The state of a named conversation. */
export interface SessionState {
  /** An interrupted run of it, which is finished first. */
  readonly interrupted: RunSummary | null;
  /** Messages so far, those of the interrupted run not counted. */
  readonly messages: number;
}

/** What stands in a named conversation now. Throws when another process is using it. */
export async function sessionState(agent: Agent, { name }: ChatSession): Promise<SessionState> {
  const conversation = agent.conversation(name);
  const last = (await conversation.runs()).at(-1);
  if (last?.state === 'running')
    throw new Error(`The conversation '${escaped(name)}' is in use by another process, with run ${last.runId}.`);
  const interrupted = last === undefined || last.state === 'ended' ? null : last;
  return { interrupted, messages: (await conversation.history).length };
}
