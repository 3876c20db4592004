/** A change to our own source, outside of the machines, that a simulation is to notice. */
export interface SourceMutant {
  /** Below `src/`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const change = (file: string, from: string, to = ''): SourceMutant => ({ file, from, to });

const LIVE = 'journal/run/live-journal.ts';
const DRIVE = 'journal/run/drive.ts';
const LEAF = 'actors/leaf.ts';
const CONTINUED = 'journal/replay/continued-journal.ts';
const RESUME = 'agent/past/resume-run.ts';
const REDACTOR = 'actors/redactor.ts';
const REDACTION = 'agent/core/redaction.ts';
const CALL_TOOL = 'actors/tool-call/call-tool.ts';
const CALL_LLM = 'actors/call-llm.ts';
const QUEUE = 'mcp/calls/call-queue.ts';
const CALL = 'mcp/calls/queued-call.ts';
const STORE = 'security/permissions-store.ts';
const FILE = 'security/permissions-file.ts';

/** The changes, by the part that they break. */
export const SOURCE_MUTANTS: readonly SourceMutant[] = [
  // The live journal.
  change(LIVE, 'if (fresh.length < this.#fresh.length) {', 'if (id === "") {'),
  change(LIVE, "this.#running.get(id)?.abort(new Error('It is no longer needed: its state was left.'));"),
  change(
    LIVE,
    "    this.#running.get(id)?.abort(new Error('It is no longer needed: its state was left.'));\n    this.#running.delete(id);",
  ),
  change(LIVE, "if (entry.t === 'outcome' || entry.t === 'timer') this.#running.delete(entry.id);"),
  change(LIVE, 'asked?.resolve(true);'),
  change(LIVE, 'if (!this.#isOpen(entry)) {', 'if (entry.t === "timer" && entry.id === "") {'),
  change(LIVE, 'this.#run.accepts(entry.event, entry.to)', 'true'),
  change(
    LIVE,
    'const written = this.#append([entryRecord(entry, this.at())]);\n        if (written !== undefined) await written;',
    'void this.#append([entryRecord(entry, this.at())]);',
  ),
  change(
    LIVE,
    'const written = this.#ended ? undefined : this.#writeStarts();\n      if (written !== undefined) await written;',
    'if (!this.#ended) void this.#writeStarts();',
  ),
  change(LIVE, 'this.#fresh = NOTHING;\n'),
  change(LIVE, "await this.#append([{ t: 'end', at: this.at(), output }]);"),
  change(LIVE, 'this.#begun = true;\n'),
  change(LIVE, 'for (const start of this.#starts.splice(0))', 'for (const start of this.#starts.slice(0))'),
  change(LIVE, 'if (this.#ended) return Promise.resolve(false);'),
  change('actors/deadline.ts', "signal.addEventListener('abort', () => clearTimeout(timer), { once: true });"),
  change(LIVE, 'this.#queue.push(waiting);', 'this.#queue.unshift(waiting);'),
  change(LIVE, 'leftMs ?? ms', 'ms'),
  // The driver.
  change(DRIVE, 'this.#options.journal.close(effectId);'),
  change(DRIVE, 'this.#ordinals.set(path, next);'),
  change(DRIVE, 'if (this.#timers.some(({ effect }) => effect.id === timerId)) this.close(timerId);'),
  change(DRIVE, 'this.#target(entry.to)?.send(entry.event);', 'this.actor.send(entry.event);'),
  change(DRIVE, 'return timer?.fire();', 'return;'),
  // Leaves.
  change(LEAF, 'return redactor.redact(out);', 'return out;'),
  change(LEAF, 'host?.close(open);', 'void open;'),
  change(LEAF, 'out = { ok: false, error: toLeafError(thrown) };', 'out = { ok: true, value: null };'),
  change(LEAF, "effects: typeof effects === 'function' ? effects(input) : effects,", "effects: 'none',"),
  change('actors/journal.ts', "return `${id.slice(0, id.lastIndexOf('#'))}@${digest}`;", 'return digest;'),
  change(LEAF, 'keeps ? input : revealed(redactor, name, input)', 'input'),
  change(LEAF, 'if (json.ok) return json;', 'if (json.ok) return { ok: true, value: null };'),
  // Resume.
  change(CONTINUED, "effect.effects === 'once' ? always(unknownOutcome(effect)) : perform", 'perform'),
  change(CONTINUED, 'const again = inFlight.flatMap(', 'const again = [].flatMap('),
  change(CONTINUED, 'leftMs: at + effect.ms - age }] : [];', 'leftMs: at + 3 * effect.ms }] : [];'),
  change(CONTINUED, 'for (const { effect, perform } of wanted) journal.open(effect, perform);'),
  change(CONTINUED, "if (kind !== 'copied') this.#first.push({ t: 'restart', at: age });"),
  change(CONTINUED, "this.#first.push({ t: 'event', at, event, aside: true });"),
  change(CONTINUED, '    this.#letGo(journal);\n    onLive();', '    onLive();'),
  change(CONTINUED, 'if (this.#released) journal.release?.();'),
  change(RESUME, 'redactor = core.redaction.redactorOf(past);'),
  change(RESUME, 'caughtUp.resolve(undefined);\n              if (upgraded', 'if (upgraded'),
  change(RESUME, "if (upgraded.tools === 'now') live.follow(started, known, redactor);"),
  // Redaction.
  change(REDACTOR, 'part.replaceAll(secret, mark)', 'part.replace(secret, mark)'),
  change(REDACTOR, '(this.#numbers ??= new Map()).set(secret, number);'),
  change(REDACTOR, '[map(key), mapped(member, map)]', '[key, mapped(member, map)]'),
  change(REDACTOR, '.filter(({ length }) => length >= SHORTEST)', '.filter(({ length }) => length > 30)'),
  change(REDACTOR, 'secrets.get(Number(number)) ?? mark', 'mark'),
  change(REDACTION, 'return { ...redact(head), options: head.options };', 'return head;'),
  change(REDACTION, 'if (secrets === undefined) again.redact(this.#agent.options.secrets ?? []);'),
  // Calls of tools and models.
  change('actors/deadline.ts', 'clear(): void {\n    this.#stop?.();', 'clear(): void {'),
  change(CALL_TOOL, 'limit.clear();'),
  change(CALL_TOOL, 'await Promise.race([work(ports, input, call), limit.passed])', 'await work(ports, input, call)'),
  change(CALL_TOOL, 'copyOf(input.args)', 'input.args'),
  change(CALL_LLM, 'namedReply(checkReply(await replying), model)', 'namedReply(await replying, model)'),
  change(
    CALL_LLM,
    '} finally {\n    stop();\n    owner.removeEventListener',
    '} finally {\n    owner.removeEventListener',
  ),
  // Calls of MCP servers.
  change(
    'mcp/policies/annotations.ts',
    'if (annotations?.destructiveHint === true && annotations.idempotentHint !== true) return false;',
  ),
  change(
    'mcp/calls/call-errors.ts',
    "    case 'session':\n    case 'exited':\n      return 'lost';",
    "    case 'session':\n    case 'exited':\n      return 'final';",
  ),
  change(QUEUE, 'for (const call of this.#on(generation)) call.lose(generation, fault);'),
  change(QUEUE, '      call.send(link);\n    }\n  }', '    }\n  }'),
  change(CALL, 'return { delivered, repeat: this.#job.repeat() };', "return { delivered: false, repeat: 'allowed' };"),
  change(CALL, 'this.#time.release();'),
  // The permission store.
  change(STORE, 'if (of === undefined) return tools.has(tool);', 'if (of === undefined) return true;'),
  change(STORE, 'kept.change((own) => withTool(own, of ?? tool));'),
  change(FILE, 'const after = change(before ?? NONE);', 'const after = before ?? NONE;'),
  change(FILE, 'lock.release();'),
];

/** The changes that no simulation notices, by their place in the list. docs/proof.md says why. */
export const SURVIVORS: readonly number[] = [0];
