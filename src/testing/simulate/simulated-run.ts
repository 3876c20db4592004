/**
 * Owns: one run of a seed from its task to its result: which of the things that may come next comes, over crashes.
 * Does not own: whether what came of it is right (the judge's).
 *
 * I1 The same seed and the same draws give the same run.
 * I2 Nothing arrives before everything that can happen by itself has happened.
 */
import { defined } from '../../json/json.ts';
import type { AgentOptions } from '../../agent/options/agent-options.ts';
import { memoryPermissions, replaceHomePermissions } from '../../agent/tools/granted.ts';
import type { SomeRun } from '../../agent/run/run.ts';
import { describeThrown } from '../../json/to-json.ts';
import type { AnyResult } from '../../machines/contract/run-result.ts';
import { type Draws, type Only, drawsOf } from './draws.ts';
import { Leftovers, realNow, reallyWait, settled } from './virtual-time.ts';
import { faultyModel, inventingModel } from './simulated-model.ts';
import { HOUR_MS, Outside, homeInMemory } from './simulated-outside.ts';
import type { ServerWorld } from './simulated-servers.ts';
import { SimulatedStore, nameOf } from './simulated-store.ts';
import type { Problem } from './journal-laws.ts';
import type { Simulated, SimulatedAgent, SimulatedOutcome } from './simulation.ts';

/** A run in which more than this arrives has no end. */
const MOST_STEPS = 3_000;
/** For how many real milliseconds a leaf that really waits is waited for: turns of one each, so that a process held up gives up no sooner. */
const PATIENCE_TURNS = 900;

/** Runs a seed, and gives up on a run of more than `most` records. */
export async function simulatedRun(
  simulated: Simulated,
  seed: number,
  { only, most }: { readonly only: Only; readonly most: number },
): Promise<SimulatedOutcome> {
  const { time } = simulated;
  const draws = drawsOf(seed, only);
  time.reset(draws.source('chance'));
  simulated.begin();
  replaceHomePermissions(homeInMemory());
  return new OneRun(simulated, seed, draws, most).lead();
}

class OneRun {
  readonly #simulated: Simulated;
  readonly #runId: string;
  readonly #most: number;
  readonly #draws: Draws;
  readonly #store: SimulatedStore;
  readonly #options: AgentOptions;
  readonly #servers: ServerWorld | null;
  readonly #outside: Outside;
  #agent: SimulatedAgent;
  #run: SomeRun | null = null;
  #steps = 0;
  #isParking = false;
  #problem: Problem | null = null;
  readonly #leftovers: Leftovers;

  constructor(simulated: Simulated, seed: number, draws: Draws, most: number) {
    this.#most = most;
    this.#simulated = simulated;
    this.#runId = `seed-${seed}`;
    this.#draws = draws;
    const { rates, model, hostile } = simulated;
    const isMade = typeof simulated.agent === 'function';
    this.#outside = new Outside({
      isMade,
      isOfServer: (tool) => this.#servers?.offers(tool) === true,
      canRestart: () => this.#store.canRestart(),
      send: (event, callId) => this.#store.send(event, callId),
      draws,
      rates,
      time: simulated.time,
      wrong: (check, says) => this.#wrong(check, says),
    });
    this.#leftovers = new Leftovers(simulated.time);
    this.#servers = simulated.servers?.(draws, rates) ?? null;
    this.#store = new SimulatedStore(draws, rates, {
      canResume: isMade,
      simulatesServers: this.#servers !== null,
      isGone: (tool) => this.#outside.isGone(tool),
      wrong: (check, says) => this.#wrong(check, says),
    });
    this.#options = {
      journal: this.#store,
      model: faultyModel(model?.(seed) ?? inventingModel(draws, hostile), draws, rates, hostile),
      permissions: memoryPermissions(),
      silent: true,
      inspect: false,
      // Ten thousand simulated runs are nothing to report.
      telemetry: { follow: () => null },
      seed,
    };
    this.#agent = this.#made();
  }

  async lead(): Promise<SimulatedOutcome> {
    const { time, context } = this.#simulated;
    let result = await this.#live(() => this.#begin());
    for (let life = 1; this.#isInterrupted(result) && this.#problem === null; life++) {
      const { crash } = this.#store;
      if (crash !== null && crash !== 'process.abandon' && result?.status !== 'failed')
        this.#wrong('journal', `the journal could not write, and the run ended as ${result?.status ?? 'rejected'}`);
      this.#store.restart();
      this.#outside.restart();
      this.#isParking = false;
      // A process that has given the run up may yet live, and do what it was doing.
      if (crash !== 'process.abandon' || this.#draws.below(`lives ${life}`, 2) === 0) time.forget();
      time.pass(this.#draws.below(`outage ${life}`, 3) * 20_000);
      this.#agent = this.#made();
      // What the agent opens by itself is not held: a tool that really waits would race against virtual time.
      this.#store.plain = this.#simulated.waited.size === 0 && this.#draws.below(`plain ${life}`, 2) === 1;
      result = await this.#live(() =>
        this.#store.recording() === null
          ? this.#begin()
          : this.#agent.resume(this.#runId, { migrate: (recording) => recording, park: this.#parks(life), context }),
      );
    }
    this.#outside.end();
    this.#outside.judgeSaid(this.#store.recording());
    if (result !== null) await this.#outside.settle(this.#run, result);
    this.#servers?.close();
    const why = result?.error?.code === 'timeout' ? 'timeout' : (result?.reason ?? null);
    const left = why === null ? null : await this.#leftovers.left(why, this.#draws.drawn);
    if (left !== null) this.#wrong('left behind', left);
    return {
      seed: this.#draws.seed,
      draws: this.#draws,
      result,
      problem: this.#problem,
      recording: this.#store.recording(),
      store: this.#store,
      agent: this.#agent,
      run: this.#run,
      carriedOut: this.#servers?.carriedOut ?? new Map(),
      printed: this.#simulated.printed.splice(0).join(''),
    };
  }

  /** The process has ended, or the run was let go: it is taken up again. */
  #isInterrupted(result: AnyResult | null): boolean {
    return (
      this.#store.crash !== null || (result?.status === 'waiting' && (this.#outside.hasReleased || this.#isParking))
    );
  }

  #made(): SimulatedAgent {
    const { agent } = this.#simulated;
    if (typeof agent === 'function') {
      const servers = this.#servers === null ? {} : { mcpServers: this.#servers.connect() };
      const made = agent({ ...this.#options, ...servers });
      if (made.options.confirm === undefined) made.configure({ confirm: 'wait' });
      return made;
    }
    const { model, permissions } = this.#options;
    agent.configure({
      ...defined({ model, permissions }),
      ...(agent.options.confirm === undefined ? { confirm: 'wait' as const } : {}),
    });
    agent.setHistory([]);
    return agent;
  }

  #begin(): SomeRun {
    const given = { runId: this.#runId, journal: this.#store, inspect: false, context: this.#simulated.context };
    return this.#agent.run(this.#simulated.task, { ...given, park: this.#parks(0) });
  }

  /** Whether a life of the run ends where it waits for people or long timers. */
  #parks(life: number): boolean {
    const rate = this.#store.canRestart() ? this.#simulated.rates['outside.park'] : 0;
    return (this.#isParking = this.#draws.happens('outside.park', `${life}`, rate, `life ${life}: it may be parked`));
  }

  /** Drives one life of the process, to the end of the run or to a crash. */
  async #live(start: () => SomeRun): Promise<AnyResult | null> {
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
    // What comes while a run begins, or while its recording is played, is kept for it.
    this.#outside.interfere(run, null, ++this.#steps);
    for (;;) {
      await settled();
      // Connections take turns of the event loop to come up.
      if (this.#servers !== null) for (let turn = 0; turn < 3; turn++) await settled();
      if (result !== undefined) return result;
      if (this.#store.records > this.#most) return this.#stop(run, 'the run is larger than it may be', 'too large');
      if (++this.#steps > MOST_STEPS) return this.#stop(run, `the run had not ended after ${MOST_STEPS} steps`);
      this.#outside.interfere(run, this.#agent, this.#steps);
      if (this.#store.abandons(this.#steps)) return null;
      // A run that was let go ends by itself, and what it was doing is aborted.
      if (this.#outside.hasReleased) await settled();
      const isWriting = this.#store.held.some(({ says }) => says.startsWith('write'));
      if (!isWriting && this.#outside.isHeldBack(this.#steps))
        this.#wrong('release', 'the run was released, and continues');
      if (result !== undefined) return result;
      if ((await this.#step(run)) || (await this.#loads(() => result !== undefined))) continue;
      const open = run.state.path;
      return this.#stop(run, `nothing can happen any more, and the run has not ended: it is in ${open}`);
    }
  }

  /** Something may be loaded for the first time, which takes real time. True when anything has come of it. */
  async #loads(isOver: () => boolean): Promise<boolean> {
    const { time, until } = this.#simulated;
    for (let turn = 0; turn < PATIENCE_TURNS && realNow() < until; turn++) {
      await reallyWait(1);
      if (isOver() || this.#store.held.length > 0 || time.count > 0) return true;
    }
    return false;
  }

  #wrong(check: string, message: string): void {
    this.#problem ??= { check, message };
  }

  async #stop(run: SomeRun, message: string, check = 'every run ends'): Promise<null> {
    this.#wrong(check, message);
    void run.cancel('the simulation has ended');
    for (let turn = 0; turn < 5; turn++) {
      await settled();
      for (const item of this.#store.held.splice(0)) item.release();
    }
    return null;
  }

  /** One thing arrives. False when nothing can. */
  async #step(run: SomeRun): Promise<boolean> {
    const { time } = this.#simulated;
    const { held } = this.#store;
    const waiting = run.pending.filter(({ callId }) => !this.#outside.late.has(callId));
    const ready: readonly (() => void)[] = [
      ...held.map((item) => () => item.release()),
      ...waiting.map((asked) => () => this.#outside.answer(run, asked)),
    ];
    if (ready.length === 0 && (await this.#reallyWaits())) return true;
    const count = ready.length + (time.count > 0 && this.#atWork().length === 0 ? 1 : 0);
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
    if (this.#outside.late.size === 0) return false;
    // Nothing else comes: the person who was late answers at last.
    time.pass(24 * HOUR_MS);
    const left = run.pending[0];
    this.#outside.late.clear();
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
    if (before.length === 0 || time.count > before.length + this.#store.timers.size) return false;
    let turns = 0;
    const isNews = (): boolean => this.#store.held.length > 0 || this.#atWork().length < before.length;
    await settled();
    while (!isNews()) {
      for (const name of before) waited.add(name);
      if (++turns > PATIENCE_TURNS || realNow() > until) {
        for (const name of before) hanging.add(name);
        return false;
      }
      await reallyWait(1);
    }
    return true;
  }
}
