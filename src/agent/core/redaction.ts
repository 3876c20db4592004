import type { Children, RepairAgents } from '../below/child-port.ts';
import type { Configured } from './configured.ts';
import { OwnRedactor } from '../../actors/redactor.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { Recording } from '../../journal/format/recording.ts';
import { type JournalStore, type RunJournal, type RunSecrets, journalOver } from '../../journal/run/run-journal.ts';
import { secretsOf } from '../../models/endpoint/endpoint.ts';
import type { McpBinding } from '../servers/mcp-binding.ts';
import type { OwnRegistry } from '../tools/registry.ts';
import { serverSecrets } from '../../mcp/config/environment-variables.ts';

interface RedactedAgent extends Pick<Configured, 'name' | 'options' | 'listed' | 'models'> {
  readonly registry: Pick<OwnRegistry, 'entries' | 'ownSkills'>;
  readonly mcp: Pick<McpBinding, 'names' | 'secrets'>;
  readonly children: Children;
  readonly repairers: RepairAgents;
  journal(): JournalStore;
}

/** What is listed of an agent and of those below it. */
type Listed = 'secrets' | 'hidden' | 'names';

const NOTHING: readonly never[] = [];

/** What is longer is a key, whatever a server calls its tools. */
const LONGEST_WORD = 24;

/** The marks of so many runs are remembered, the newest. */
const MOST_RUNS = 1000;

/** What of an agent, and of those below it, no model, recording or log may hold. */
export class Redaction {
  readonly redactor: OwnRedactor;
  readonly #agent: RedactedAgent;
  readonly #fixed: readonly string[];
  /** What people typed as secrets for servers. */
  #typed: Set<string> | null = null;
  /** What made the marks of runs in this process. A run is named by its id and its beginning: ids are used again elsewhere. */
  readonly #madeBy = new Map<string, OwnRedactor>();
  /** What is being listed: a function may have chosen an agent to repair for itself, or for another that repairs for it. */
  #listing: readonly Listed[] = NOTHING;

  constructor(agent: RedactedAgent) {
    const { mcpServers } = agent.options;
    this.#agent = agent;
    this.#fixed = mcpServers === undefined ? NOTHING : serverSecrets(mcpServers);
    this.redactor = this.#redactor();
  }

  hide(text: string): void {
    (this.#typed ??= new Set()).add(text);
  }

  /** The secret texts, including those of the agents below. */
  secrets(): readonly string[] {
    const { options, listed, models, mcp } = this.#agent;
    return this.#once('secrets', (below) => {
      const texts = [...(options.secrets ?? NOTHING), ...this.#fixed, ...mcp.secrets()];
      for (const model of [...listed, ...models.values()]) texts.push(...secretsOf(model));
      return this.#inNoName(below.length === 0 ? texts : [...texts, ...below]);
    });
  }

  /** What people typed as secrets for servers, including those of the agents below: never shown, never given to a tool. */
  hidden(): readonly string[] {
    return this.#once('hidden', (below) => this.#inNoName(this.#typed === null ? below : [...this.#typed, ...below]));
  }

  /** Of the agent, its tools, skills and servers, and of those of the agents below. */
  names(): readonly string[] {
    const { name, registry, mcp } = this.#agent;
    const skills = registry.ownSkills.map((skill) => skill.name);
    return this.#once('names', (below) => [name, ...registry.entries.keys(), ...skills, ...mcp.names(), ...below]);
  }

  /** The password `postgres` of a server of that name is known to all: with marks in their names, its tools could not be called. */
  #inNoName(texts: readonly string[]): readonly string[] {
    if (texts.every(({ length }) => length > LONGEST_WORD)) return texts;
    const names = this.names();
    return texts.filter((text) => text.length > LONGEST_WORD || !names.some((name) => name.includes(text)));
  }

  /**
   * Remembers what makes the marks of a run, so that a fork of it has its secrets when its journal has forgotten them. To be
   * forgotten when the run is over.
   */
  remember(head: RunRecord, redactor: OwnRedactor): void {
    const name = nameOf(head);
    this.#madeBy.delete(name);
    this.#madeBy.set(name, redactor);
    for (const oldest of this.#madeBy.keys()) if (this.#madeBy.size > MOST_RUNS) this.#madeBy.delete(oldest);
  }

  /** The run is over: what made its marks is needed only if it has some. */
  forget(head: RunRecord, redactor: OwnRedactor): void {
    const name = nameOf(head);
    if (this.#madeBy.get(name) === redactor && !redactor.hasMarks) this.#madeBy.delete(name);
  }

  /** A redactor for a run that continues a recording, with the marks of that run and of no other. */
  redactorOf(recording: Recording): OwnRedactor {
    const { secrets } = this.#agent.journal();
    const made = this.#madeBy.get(nameOf(recording.head))?.marks();
    const again = this.#redactor({ ...made, ...secrets?.read(recording.head.runId) });
    // A journal that keeps no secrets leaves only those of the options, which have the first marks.
    if (secrets === undefined) again.redact(this.#agent.options.secrets ?? []);
    again.reserve([recording.head, recording.lines]);
    return again;
  }

  /** A redactor for a run outside of the agent's own conversation: marks of other runs stand for nothing in it. */
  separate(): OwnRedactor {
    return this.#redactor();
  }

  /** The first line of a recording with marks for secrets. */
  redacted(head: RunRecord, { redact }: Pick<OwnRedactor, 'redact'> = this.redactor): RunRecord {
    // What belongs to the agent is numbered first: a replay by an agent like it gets the same marks.
    const local = head.toolset.tools.filter((one) => one.origin.kind === 'local');
    redact([this.#agent.options.secrets ?? [], head.instructions, local]);
    // Settings hold no texts of the user's, and a secret that is part of a setting's name must not hide that.
    return { ...redact(head), options: head.options };
  }

  #redactor(kept?: Readonly<Record<string, string>>): OwnRedactor {
    return new OwnRedactor(
      () => this.secrets(),
      kept,
      () => this.hidden(),
    );
  }

  #once(what: Listed, list: (below: readonly string[]) => readonly string[]): readonly string[] {
    const { children, repairers } = this.#agent;
    const known = repairers.all();
    if (children.size === 0 && known.size === 0) return list(NOTHING);
    if (this.#listing.includes(what)) return NOTHING;
    const before = this.#listing;
    this.#listing = [...before, what];
    const below = [...children.values(), ...known.values()].flatMap((port) => port[what]());
    this.#listing = before;
    return list(below);
  }
}

function nameOf({ runId, at }: RunRecord): string {
  return `${runId} ${at}`;
}

/**
 * Stores the secrets behind a run's marks, from `begin` to `end`, if its journal keeps secrets, so that another process can resume
 * the run. A failure is a warning; the mark is then lost with this process. Until the run has begun, its id may be another
 * run's, whose marks stand for other secrets.
 */
export class KeptSecrets {
  readonly #secrets: RunSecrets;
  readonly #runId: string;
  readonly #redactor: OwnRedactor;
  #end: (() => void) | undefined;

  constructor(secrets: RunSecrets, runId: string, redactor: OwnRedactor) {
    this.#secrets = secrets;
    this.#runId = runId;
    this.#redactor = redactor;
  }

  begin(): void {
    if (this.#end !== undefined) return;
    const marks = this.#redactor.marks();
    if (Object.keys(marks).length > 0) this.#keep(marks);
    this.#end = this.#redactor.onMark((mark, secret) => this.#keep({ [mark]: secret }));
  }

  end(): void {
    this.#end?.();
  }

  /** Begins before the first work of a run: its beginning is written by then. */
  atFirstWork(journal: RunJournal): RunJournal {
    return journalOver(journal, {
      open: (effect, perform, fired) => journal.open(effect, (io) => (this.begin(), perform(io)), fired),
    });
  }

  #keep(marks: Readonly<Record<string, string>>): void {
    try {
      this.#secrets.keep(this.#runId, marks);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      process.emitWarning(
        `A secret of run ${this.#runId} could not be kept; the run cannot be resumed with it. ${why}`,
      );
    }
  }
}
