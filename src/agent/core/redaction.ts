import type { ChildPort } from '../below/child-port.ts';
import type { Configured } from './configured.ts';
import { type OwnRedactor, createRedactor } from '../../actors/redactor.ts';
import type { RunRecord } from '../../journal/format/record.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { secretsOf } from '../../models/endpoint/model-secrets.ts';
import type { McpBinding } from '../servers/mcp-binding.ts';
import { serverSecrets } from '../../mcp/config/server-secrets.ts';

/** What of an agent, and of those below it, no model, recording or log may hold. */
export class Redaction {
  readonly redactor: OwnRedactor;
  readonly #now: Configured;
  readonly #mcp: McpBinding;
  readonly #below: () => readonly ChildPort[];
  readonly #fixed: readonly string[];
  /** What people typed as secrets for servers. */
  readonly #typed = new Set<string>();
  /** What is being listed: a function may have chosen an agent to repair for itself, or for another that repairs for it. */
  readonly #listing = new Set<'secrets' | 'hidden'>();

  constructor(now: Configured, mcp: McpBinding, below: () => readonly ChildPort[]) {
    this.#now = now;
    this.#mcp = mcp;
    this.#below = below;
    this.#fixed = serverSecrets(now.options.mcpServers ?? {});
    this.redactor = createRedactor(
      () => this.secrets(),
      {},
      () => this.hidden(),
    );
  }

  hide(text: string): void {
    this.#typed.add(text);
  }

  secrets(): readonly string[] {
    const { options, listed, models } = this.#now;
    return this.#once('secrets', (below) => [
      ...(options.secrets ?? []),
      ...this.#fixed,
      ...this.#mcp.secrets(),
      ...[...listed, ...models.values()].flatMap(secretsOf),
      ...below,
    ]);
  }

  hidden(): readonly string[] {
    return this.#once('hidden', (below) => [...this.#typed, ...below]);
  }

  /** A redactor for a resumed run, with the marks that it had. */
  redactorOf(recording: Recording, { secrets }: JournalStore): OwnRedactor {
    const again = createRedactor(
      () => this.secrets(),
      secrets?.read(recording.head.runId),
      () => this.hidden(),
    );
    // A journal that keeps no secrets leaves those of the options, which have the first marks.
    if (secrets === undefined) again.redact(this.#now.options.secrets ?? []);
    again.reserve([recording.head, recording.lines]);
    return again;
  }

  /** The first line of a recording with marks for secrets. */
  redacted(head: RunRecord): RunRecord {
    // What belongs to the agent is numbered first: a replay by an agent like it gets the same marks.
    const local = head.toolset.tools.filter((one) => one.origin.kind === 'local');
    this.redactor.redact([this.#now.options.secrets ?? [], head.instructions, local]);
    return this.redactor.redact(head);
  }

  #once(what: 'secrets' | 'hidden', list: (below: readonly string[]) => readonly string[]): readonly string[] {
    if (this.#listing.has(what)) return [];
    this.#listing.add(what);
    const below = this.#below().flatMap((port) => port[what]());
    this.#listing.delete(what);
    return list(below);
  }
}
