/**
 * Owns: one run of a seed from its task to its result: which of the things that may come next comes, over crashes.
 * Does not own: whether what came of it is right (the judge's).
 *
 * I1 The same seed and the same draws give the same run.
 * I2 Nothing arrives before everything that can happen by itself has happened.
 */
import type { AgentOptions } from '../../agent/options/agent-options.ts';
import type { Permissions } from '../../agent/options/option-types.ts';
import type { PendingApproval, Run } from '../../agent/run/run.ts';
import type { Effect } from '../../actors/journal.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { describeThrown } from '../../json/to-json.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import { textAt } from '../explore/walk/story.ts';
import { type Draws, drawsOf } from './draws.ts';
import { type FaultName, faultyModel, inventingModel } from './simulated-faults.ts';
import { type SimulatedStore, simulatedStore } from './simulated-store.ts';
import { realNow, reallyWait, settled } from './virtual-time.ts';
import type { Problem, Simulated, SimulatedAgent, SimulatedOutcome } from './simulation.ts';

/** A run in which more than this arrives has no end. */
const MOST_STEPS = 3_000;
/** How long a leaf that really waits is waited for, in real milliseconds. */
const PATIENCE_MS = 1_000;
const HOUR_MS = 3_600_000;

/** Runs a seed. With `only` no draws but these are made. */
export async function simulatedRun(
  simulated: Simulated,
  seed: number,
  only: ReadonlySet<string> | null,
): Promise<SimulatedOutcome> {
  const { time } = simulated;
  const draws = drawsOf(seed, only);
  time.reset(draws.source('chance'));
  simulated.begin();
  return new OneRun(simulated, seed, draws).lead();
}

/** After these something may be left that a sound agent would have ended. */
const LEAVES_SOMETHING = /^(tool|process|journal|outside|mcp)\./;

/** What the process has that outlasts a run. */
function outlasting(): { readonly listeners: number; readonly processes: number } {
  return {
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    processes: process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length,
  };
}

class OneRun {
  readonly #simulated: Simulated;
  readonly #seed: number;
  readonly #draws: Draws;
  readonly #store: SimulatedStore;
  readonly #options: AgentOptions;
  readonly #late = new Set<string>();
  readonly #removed: (() => void)[] = [];
  #agent: SimulatedAgent;
  #run: Run | null = null;
  #steps = 0;
  #problem: Problem | null = null;
  readonly #before = outlasting();

  constructor(simulated: Simulated, seed: number, draws: Draws) {
    this.#simulated = simulated;
    this.#seed = seed;
    this.#draws = draws;
    const { rates, model, hostile } = simulated;
    const canResume = typeof simulated.agent === 'function';
    this.#store = simulatedStore(draws, rates, canResume);
    this.#options = {
      journal: this.#store,
      model: faultyModel(model?.(seed) ?? inventingModel(draws, hostile), draws, rates, hostile),
      permissions: permissionsInMemory(),
      silent: true,
      inspect: false,
      seed,
    };
    this.#agent = this.#made();
  }

  async lead(): Promise<SimulatedOutcome> {
    let result = await this.#live(() => this.#begin());
    for (let life = 1; this.#store.crash !== null && this.#problem === null; life++) {
      if (result?.status !== 'failed')
        this.#wrong('journal', `the journal could not write, and the run ended as ${result?.status ?? 'rejected'}`);
      this.#store.restart();
      this.#simulated.time.pass(this.#draws.below(`outage ${life}`, 3) * 20_000);
      this.#agent = this.#made();
      const isKept = this.#store.recording() !== null;
      // What the agent opens by itself is not held: a tool that really waits would race against virtual time.
      this.#store.plain = this.#simulated.waited.size === 0 && this.#draws.below(`plain ${life}`, 2) === 1;
      result = await this.#live(() =>
        isKept ? this.#agent.resume(this.#runId, { migrate: (recording) => recording }) : this.#begin(),
      );
    }
    for (const undo of this.#removed) undo();
    this.#lookForLeftovers();
    return {
      seed: this.#seed,
      drawn: this.#draws.drawn,
      result,
      problem: this.#problem,
      recording: this.#store.recording(),
      store: this.#store,
      agent: this.#agent,
      run: this.#run,
      printed: this.#simulated.printed.splice(0).join(''),
    };
  }

  /**
   * What still keeps the process alive, or listens to it, when the run is over. Where a tool was broken or a process ended,
   * something is always left.
   */
  #lookForLeftovers(): void {
    const { time } = this.#simulated;
    if (this.#draws.drawn.some(({ kind }) => LEAVES_SOMETHING.test(kind))) return;
    const timer = time.pending.find(({ isRef }) => isRef);
    if (timer !== undefined) this.#wrong('left behind', `a timer of ${timer.ms} ms is still set when the run is over`);
    const now = outlasting();
    if (now.listeners > this.#before.listeners)
      this.#wrong('left behind', 'the process has more listeners than before the run');
    if (now.processes > this.#before.processes)
      this.#wrong('left behind', 'a process that was started is still there when the run is over');
  }

  get #runId(): string {
    return `seed-${this.#seed}`;
  }

  #made(): SimulatedAgent {
    const { agent } = this.#simulated;
    if (typeof agent === 'function') {
      const made = agent(this.#options);
      if (made.options.confirm === undefined) made.configure({ confirm: 'wait' });
      return made;
    }
    const { model, permissions } = this.#options;
    const changes = {
      ...(model === undefined ? {} : { model }),
      ...(permissions === undefined ? {} : { permissions }),
    };
    agent.configure({ ...changes, ...(agent.options.confirm === undefined ? { confirm: 'wait' as const } : {}) });
    agent.setHistory([]);
    return agent;
  }

  #begin(): Run {
    return this.#agent.run(this.#simulated.task, { runId: this.#runId, journal: this.#store, inspect: false });
  }

  /** Drives one life of the process, to the end of the run or to a crash. */
  async #live(start: () => Run): Promise<AnyResult | null> {
    let result: AnyResult | null | undefined;
    const run = start();
    this.#run = run;
    run.then(
      (ended) => {
        result = ended;
      },
      (error: unknown) => {
        result = null;
        this.#wrong('rejects', `the run was rejected: ${describeThrown(error).message}`);
      },
    );
    for (;;) {
      await settled();
      if (result !== undefined) return result;
      if (++this.#steps > MOST_STEPS) return this.#stop(run, `the run had not ended after ${MOST_STEPS} steps`);
      this.#fromOutside(run);
      if (await this.#step(run)) continue;
      const open = run.state.path;
      return this.#stop(run, `nothing can happen any more, and the run has not ended: it is in ${open}`);
    }
  }

  #wrong(check: string, message: string): void {
    this.#problem ??= { check, message };
  }

  async #stop(run: Run, message: string): Promise<null> {
    this.#wrong('every run ends', message);
    void run.cancel('the simulation has ended');
    for (let turn = 0; turn < 5; turn++) {
      await settled();
      for (const item of this.#store.held.splice(0)) item.release();
    }
    return null;
  }

  #happens(kind: FaultName, place: string | number, says: string): boolean {
    return this.#draws.happens(kind, `${place}`, this.#simulated.rates[kind], says);
  }

  /** What may come at any moment, whatever the run waits for. */
  #fromOutside(run: Run): void {
    const at = this.#steps;
    const { time } = this.#simulated;
    if (this.#happens('clock.forward', at, `step ${at}: the clock jumps forward`)) {
      time.setWall(HOUR_MS);
      time.pass(this.#draws.below(`forward ${at}`, 60_000));
    }
    if (this.#happens('clock.backward', at, `step ${at}: the clock jumps back`)) time.setWall(-HOUR_MS);
    if (this.#happens('outside.cancel', at, `step ${at}: cancelled`)) void run.cancel('simulated');
    if (this.#happens('outside.tools', at, `step ${at}: the tools change`)) this.#changeTools();
  }

  /** A tool goes, or those that have gone come back. */
  #changeTools(): void {
    const { tools } = this.#agent;
    if (this.#removed.length > 0) {
      for (const undo of this.#removed.splice(0)) undo();
      return;
    }
    const list = tools.list();
    const tool = list[this.#draws.below(`tool ${this.#steps}`, list.length)];
    if (tool === undefined || !tools.remove(tool.name)) return;
    this.#removed.push(() => {
      if (!tools.has(tool.name)) tools.register(tool);
    });
  }

  /** One thing arrives. False when nothing can. */
  async #step(run: Run): Promise<boolean> {
    const { time } = this.#simulated;
    const { held } = this.#store;
    const waiting = run.pending.filter(({ callId }) => !this.#late.has(callId));
    const ready: readonly (() => void)[] = [
      ...held.map((item) => () => item.release()),
      ...waiting.map((asked) => () => this.#answer(run, asked)),
    ];
    if (ready.length === 0 && (await this.#reallyWaits())) return true;
    const count = ready.length + (time.pending.length > 0 && this.#atWork().length === 0 ? 1 : 0);
    const at = this.#steps;
    if (count > 1 && this.#draws.happens('order', `${at}`, 0.4, `step ${at}: another order`)) {
      const chosen = ready[this.#draws.below(`order ${at}`, count)];
      if (chosen === undefined) return time.fireNext();
      chosen();
      return true;
    }
    const [first] = ready;
    if (first !== undefined) {
      first();
      return true;
    }
    if (time.fireNext()) return true;
    if (this.#late.size === 0) return false;
    // Nothing else comes: the person who was late answers at last.
    time.pass(24 * HOUR_MS);
    const left = run.pending[0];
    this.#late.clear();
    if (left === undefined) return false;
    void run.approve(left.callId);
    return true;
  }

  /** What the user's code is doing, but for what has never settled before, and people who are waited for. */
  #atWork(): readonly string[] {
    const { working } = this.#store;
    if (working.size === 0) return [];
    const { confirm } = this.#agent.options;
    const list = [...working.values()].filter(({ name }) => name !== 'askApproval' || confirm !== 'wait');
    return list.map(nameOf).filter((name) => !this.#simulated.hanging.has(name));
  }

  /**
   * Waits in real time for code that neither settles nor has a timer of its own. True when something has come of it; what
   * has not settled after a while is left to its time limit.
   */
  async #reallyWaits(): Promise<boolean> {
    const { time, until, hanging, waited } = this.#simulated;
    const before = this.#atWork();
    // A call has one time limit. Whatever timer there is beside those and the machines' belongs to a tool.
    if (before.length === 0 || time.pending.length > before.length + this.#store.timers.size) return false;
    const began = realNow();
    const isNews = (): boolean => this.#store.held.length > 0 || this.#atWork().length < before.length;
    await settled();
    while (!isNews()) {
      for (const name of before) waited.add(name);
      if (realNow() - began > PATIENCE_MS || realNow() > until) {
        for (const name of before) hanging.add(name);
        return false;
      }
      await reallyWait(1);
    }
    return true;
  }

  /** A person answers, in one of the ways in which people do. */
  #answer(run: Run, { callId, args }: PendingApproval): void {
    const is = (name: FaultName, says: string): boolean => this.#happens(name, callId, `${callId}: the person ${says}`);
    if (is('person.late', 'is late')) return void this.#late.add(callId);
    if (is('person.wrong', 'answers another call')) {
      void run.approve('no-such-call').then((taken) => {
        if (taken) this.#wrong('answers', 'an approval of a call that does not wait was taken');
      });
    }
    if (is('person.reject', 'says no')) void run.reject(callId, 'simulated');
    else if (is('person.edit', 'edits the arguments')) void run.approve(callId, { args: edited(args) });
    else void run.approve(callId);
    if (is('person.twice', 'answers twice')) void run.approve(callId);
  }
}

/** A tool by its name; anything else by its leaf. */
function nameOf({ name, request }: Effect): string {
  return isJsonObject(request) && typeof request['tool'] === 'string' ? request['tool'] : name;
}

/** The arguments with a text changed, or as they were. */
function edited(args: unknown): JsonObject {
  const before: JsonObject = typeof args === 'object' && args !== null ? { ...args } : {};
  const name = Object.keys(before).find((key) => textAt(before, key) !== '');
  return name === undefined ? before : { ...before, [name]: `${textAt(before, name)} edited` };
}

function permissionsInMemory(): Permissions {
  const always = new Set<string>();
  return { isAlwaysAllowed: (tool) => always.has(tool), add: (tool) => void always.add(tool) };
}
