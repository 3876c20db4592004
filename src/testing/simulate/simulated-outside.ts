import type { Permissions } from '../../agent/options/option-types.ts';
import type { Delivery } from '../../agent/options/run-options.ts';
import { memoryPermissions } from '../../agent/tools/granted.ts';
import type { PendingApproval, SomeRun } from '../../agent/run/run.ts';
import type { OutsideEvent } from '../../actors/journal.ts';
import type { Recording } from '../../journal/format/recording.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import type { JsonObject } from '../../json/json.ts';
import { textAt } from '../explore/walk/story.ts';
import type { Draws } from './draws.ts';
import type { FaultName, FaultRates } from './simulated-faults.ts';
import type { SimulatedAgent } from './simulation.ts';
import { type VirtualTime, settled } from './virtual-time.ts';

export const HOUR_MS = 3_600_000;
/** Crashes may lose an answer, and a slow journal holds it; not so often. */
const MOST_ANSWERS = 30;
/** A run that was let go may have this much to do. */
const MOST_STEPS_ON = 4;

interface OutsideOptions {
  /** Whether the agent is there for this run alone: then nothing comes after it. */
  readonly isMade: boolean;
  /** Whether a tool is of a server, which alone brings it back. */
  readonly isOfServer: (tool: string) => boolean;
  /** Whether the run may yet be taken up again by another process. */
  readonly canRestart: () => boolean;
  /** Sends the run what none of its own methods sends; with `callId` to the call that a person is asked about. */
  readonly send: (event: OutsideEvent, callId?: string) => Promise<boolean>;
  readonly draws: Draws;
  readonly rates: FaultRates;
  readonly time: VirtualTime;
  /** Says what is wrong with the run. */
  readonly wrong: (check: string, says: string) => void;
}

/** What comes to a run from outside: people, clocks, and whoever holds the run or the agent. */
export class Outside {
  /** The calls whose person is late. */
  readonly late = new Set<string>();
  /** The run was let go, to be taken up again. */
  hasReleased = false;
  /** The call that somebody was asked about last. */
  #asked: string | null = null;
  readonly #answers = new Map<string, number>();
  readonly #options: OutsideOptions;
  readonly #removed: (() => void)[] = [];
  /** The tool that was removed, and at which step. */
  #gone: { readonly tool: string; readonly at: number } | null = null;
  #at = 0;
  #releasedAt = Infinity;
  #isCancelled = false;
  /** What was sent to the run and has not been settled. */
  readonly #sent = new Set<Promise<unknown>>();
  /** What people said to the run; the text is the id as well. */
  readonly #said = new Set<string>();
  /** How often each of these was sent, in order. */
  readonly #times = new Map<string, number>();
  /** What they said for the run after it. */
  readonly #queued = new Set<string>();
  /** What the run says that its model has. */
  readonly #delivered = new Set<string>();

  constructor(options: OutsideOptions) {
    this.#options = options;
  }

  /** What may come at any moment, whatever the run waits for. Without `agent` its tools stay as they are. */
  interfere(run: SomeRun, agent: SimulatedAgent | null, at: number): void {
    const { time, draws, isMade, canRestart, send } = this.#options;
    this.#at = at;
    const is = (name: FaultName, says: string): boolean => this.#happens(name, at, `step ${at}: ${says}`);
    if (is('clock.forward', 'the clock jumps forward')) {
      time.setWall(HOUR_MS);
      time.pass(draws.below(`forward ${at}`, 60_000));
    }
    if (is('clock.backward', 'the clock jumps back')) time.setWall(-HOUR_MS);
    if (is('outside.cancel', 'cancelled'))
      this.#send(run.cancel('simulated').then((taken) => (this.#isCancelled ||= taken)));
    if (is('outside.expire', 'its time is up')) this.#send(send({ type: 'run.expired' }));
    if (is('outside.abandon', 'it is ended for good')) this.#send(send(ABANDONED));
    if (agent !== null && is('outside.tools', 'the tools change')) this.#changeTools(agent, at);
    if (is('person.steer', 'somebody says something')) this.#say(run, `said ${at}`, at);
    const [[again], [queued]] = [this.#said, this.#queued];
    if (again !== undefined && is('person.repeat', 'somebody says it again')) this.#say(run, again, at);
    if (isMade && is('person.queue', 'somebody says something for the next run')) this.#queue(run, `queued ${at}`);
    if (queued !== undefined && is('person.withdraw', 'somebody takes it back'))
      this.#send(send({ type: 'message.withdrawn', id: queued }));
    if (canRestart() && !this.hasReleased && is('outside.release', 'let go')) {
      this.hasReleased = true;
      this.#releasedAt = at;
      void run.release();
    }
  }

  /** A new process: nobody waits for what was sent to the old one. */
  restart(): void {
    this.hasReleased = this.#isCancelled = false;
    this.#releasedAt = Infinity;
    this.#gone = null;
    this.#removed.splice(0);
    this.#sent.clear();
  }

  /** Whether a run that was let go has gone on for too long. */
  isHeldBack(step: number): boolean {
    return step - this.#releasedAt > MOST_STEPS_ON;
  }

  /** Whether a tool was removed before this step. */
  isGone(tool: string): boolean {
    return this.#gone?.tool === tool && this.#gone.at < this.#at;
  }

  /** A person answers, in one of the ways in which people do. */
  answer(run: SomeRun, { callId, args }: PendingApproval): void {
    const is = (name: FaultName, says: string): boolean => this.#happens(name, callId, `${callId}: the person ${says}`);
    const answers = (this.#answers.get(callId) ?? 0) + 1;
    this.#answers.set(callId, answers);
    this.#asked = callId;
    if (answers > MOST_ANSWERS) {
      this.#options.wrong('answers', `'${callId}' was answered ${MOST_ANSWERS} times, and still waits`);
      return void this.late.add(callId);
    }
    if (is('person.late', 'is late')) return void this.late.add(callId);
    if (is('person.wrong', 'answers another call')) {
      this.#refused(run.approve('no-such-call'));
    }
    if (is('person.expired', 'answers when it is too late')) {
      const expired = this.#options.send({ type: 'approval.expired' }, callId);
      this.#send(
        expired.then((taken) => (taken ? this.#refused(run.approve(callId)) : this.#send(run.approve(callId)))),
      );
    } else if (is('person.reject', 'says no')) this.#send(run.reject(callId, 'simulated'));
    else if (is('person.edit', 'edits the arguments')) this.#send(run.approve(callId, { args: edited(args) }));
    else if (is('person.always', 'says always')) this.#send(run.approve(callId, { always: true }));
    else this.#send(run.approve(callId));
    if (is('person.twice', 'answers twice')) this.#send(run.approve(callId));
  }

  /** When the run is over nobody takes an answer any more, and whoever has sent something was told what became of it. */
  async settle(run: SomeRun | null, { status, reason }: AnyResult): Promise<void> {
    if (run === null) return;
    if (this.#isCancelled && reason !== 'cancelled' && status !== 'failed' && status !== 'waiting')
      this.#options.wrong('answers', `the run was cancelled, and ended as ${reason}`);
    if (this.#asked !== null) this.#refused(run.approve(this.#asked));
    this.#refused(run.cancel('too late'));
    // What was queued is answered when the run after it has begun, or cannot: one run after the other.
    const { time } = this.#options;
    const turns = 10 + 3 * this.#sent.size;
    for (let turn = 0; turn < turns && (turn === 0 || this.#sent.size > 0); turn++) {
      if (time.pending.some(({ ms }) => ms === 0)) time.fireNext();
      await settled();
    }
    if (this.#sent.size > 0) this.#options.wrong('answers', 'what was sent to the run was neither taken nor refused');
  }

  /** What it was told that the model has the message must be true of the recording. */
  judgeSaid(recording: Recording | null): void {
    const written = new Set<unknown>();
    for (const line of recording?.lines ?? [])
      if (line.t === 'event' && line.event.type === 'message.withdrawn') written.delete(line.event.id);
      else if (line.t === 'event' && line.event.type.startsWith('message.')) written.add(line.event.id);
    // What was lost may be said again, behind others.
    const sent = [...this.#times].flatMap(([id, times]) => (times === 1 && written.has(id) ? [id] : []));
    const known = [...written].filter((id) => sent.some((one) => one === id));
    if (known.some((id, place) => id !== sent[place]))
      this.#options.wrong('messages', 'what was said first came later');
    for (const id of this.#delivered)
      if (!written.has(id))
        this.#options.wrong('messages', `'${id}' was said to be delivered, and is not written down`);
  }

  #say(run: SomeRun, text: string, at: number): void {
    const interrupt = this.#options.draws.below(`interrupt ${at}`, 2) === 1;
    this.#said.add(text);
    this.#deliver(run.steer(text, { id: text, interrupt }), text);
  }

  #queue(run: SomeRun, text: string): void {
    this.#queued.add(text);
    this.#deliver(run.queue(text, { id: text }), text);
  }

  #deliver(sent: Promise<Delivery>, text: string): void {
    this.#times.set(text, (this.#times.get(text) ?? 0) + 1);
    this.#send(sent);
    sent.then(
      ({ delivered }) => {
        if (delivered) this.#delivered.add(text);
      },
      () => undefined,
    );
  }

  #send(sent: Promise<unknown>): void {
    const gone = (): void => void this.#sent.delete(sent);
    this.#sent.add(sent);
    sent.then(gone, gone);
  }

  #refused(sent: Promise<boolean>): void {
    this.#send(sent);
    sent.then(
      (taken) => {
        if (taken) this.#options.wrong('answers', 'an answer that nobody waits for was taken');
      },
      () => undefined,
    );
  }

  /** Brings back what was taken away. */
  end(): void {
    this.#gone = null;
    for (const undo of this.#removed.splice(0)) undo();
  }

  #happens(kind: FaultName, place: string | number, says: string): boolean {
    const { draws, rates } = this.#options;
    return draws.happens(kind, `${place}`, rates[kind], says);
  }

  /** A tool goes, or those that have gone come back. */
  #changeTools({ tools, options: { children = [], skills = [] } }: SimulatedAgent, at: number): void {
    if (this.#removed.length > 0) return this.end();
    // What is registered again is a tool like any other, without what a child or a skill gave it.
    const recovers = skills.flatMap((skill) => (skill.onError === undefined ? [] : skill.tools));
    const list = tools.list().filter(({ name }) => ![...children, ...recovers].some((one) => one.name === name));
    const tool = list[this.#options.draws.below(`tool ${at}`, list.length)];
    if (tool === undefined || !tools.remove(tool.name)) return;
    this.#gone = { tool: tool.name, at };
    this.#removed.push(() => {
      // Registered again it would be a tool of the agent's own.
      if (!tools.has(tool.name) && !this.#options.isOfServer(tool.name)) tools.register(tool);
    });
  }
}

const ABANDONED = { type: 'run.abandoned', code: 'crash-loop', message: 'It is ended for good (simulated).' };

/** The arguments with a text changed, or as they were. */
function edited(args: unknown): JsonObject {
  const before: JsonObject = typeof args === 'object' && args !== null ? { ...args } : {};
  const name = Object.keys(before).find((key) => textAt(before, key) !== '');
  return name === undefined ? before : { ...before, [name]: `${textAt(before, name)} edited` };
}

/** In the place of the user's own: what is allowed while an agent is simulated is allowed nowhere else. */
export function homeInMemory(): (agent: string) => Permissions {
  const stores = new Map<string, Permissions>();
  return (agent) => {
    const store = stores.get(agent) ?? memoryPermissions();
    stores.set(agent, store);
    return store;
  };
}
