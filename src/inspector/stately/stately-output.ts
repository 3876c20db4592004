/**
 * Owns: telling Stately's tools what runs and actors do. Does not own: their protocol, and how it travels: both are theirs.
 *
 * I1 What is sent is plain JSON with marks for secrets.
 * I2 Whoever listens, or does not, cannot break what is watched.
 */
import type { AnyActorRef, InspectionEvent, Observer } from 'xstate';
import { createVault } from '../../actors/vault.ts';
import type { Move } from '../../machines/events/transition-log.ts';
import { optionsOf } from '../../json/known-options.ts';
import { MissingPackageError, isNotFound } from './missing-package-error.ts';
import { isActor } from '../sessions/root-of.ts';
import type { RunPort, WatchedActor } from '../run-port.ts';
import { type Reported, statelyReporter } from './stately-reporter.ts';

/** Where events go: any inspector of `@statelyai/inspect` fits. */
export interface StatelyTarget {
  readonly adapter: { send(event: object): void };
}

/** Where Stately's tools are. */
export interface StatelyOutputOptions {
  /** The WebSocket server that is sent to, such as theirs. Default `ws://localhost:8080`. */
  readonly url?: string;
  /** An inspector of `@statelyai/inspect` of your own to send through instead; you stop it yourself. */
  readonly to?: StatelyTarget;
}

const checkOptions = optionsOf<StatelyOutputOptions>('statelyOutput', 'docs/inspector.md', { url: true, to: true });

/** Sends what happens to Stately's tools. Hand it to agents as their option `inspect`. */
export interface StatelyOutput extends RunPort {
  attachActor(watched: WatchedActor): () => void;
  /** An observer for `createActor(machine, { inspect: output.inspect })`. */
  readonly inspect: Observer<InspectionEvent> & ((inspected: InspectionEvent) => void);
  /** Sends nothing more, and closes the connection that it opened. */
  close(): void;
  [Symbol.dispose](): void;
}

/**
 * Makes an output that sends inspection to Stately's tools through the package `@statelyai/inspect`, which you install
 * yourself. Rejects with a {@link MissingPackageError} (code `package-missing`) when it is not there.
 *
 * @example
 * const output = await statelyOutput({ url: 'ws://localhost:8080' });
 * const agent = createAgent({ inspect: output });
 */
export async function statelyOutput(options: StatelyOutputOptions = {}): Promise<StatelyOutput> {
  checkOptions(options);
  const { url, to } = options;
  const stately = await import(/* webpackIgnore: true */ /* turbopackIgnore: true */ '@statelyai/inspect').catch(
    (error: unknown) => {
      throw isNotFound(error) ? new MissingPackageError('@statelyai/inspect', 'statelyOutput()', error) : error;
    },
  );
  const own = to === undefined ? stately.createWebSocketInspector({ url: url ?? 'ws://localhost:8080' }) : null;
  const target: StatelyTarget = to ?? own ?? { adapter: { send: () => undefined } };
  const seals = new Set<WatchedActor['seal']>([createVault(() => []).seal]);
  let closed = false;

  const reporter = statelyReporter(stately.createInspector, (event) => {
    let sent = event;
    for (const seal of seals) sent = seal(sent);
    target.adapter.send(sent);
  });
  const report = (actor: object, what: Reported): void => {
    if (closed) return;
    try {
      if (isActor(actor)) reporter(actor, what);
    } catch {
      // I2.
    }
  };
  const inspect = (inspected: InspectionEvent): void => {
    const { type, actorRef } = inspected;
    if (type === '@xstate.event') {
      const { event, sourceRef } = inspected;
      report(actorRef, { type: 'event', event, source: sourceRef?.sessionId });
    }
    if (type === '@xstate.snapshot') {
      const { event, snapshot } = inspected;
      report(actorRef, { type: 'snapshot', event, snapshot });
    }
  };
  const output: StatelyOutput = {
    inspect: Object.assign(inspect, { next: inspect }),
    attach: (run) => {
      const onMove = ({ actor, event, snapshot, taken }: Move): void => {
        const eventless = taken.length > 0 && taken.every(({ eventType }) => eventType === '');
        if (!eventless) report(actor, { type: 'event', event, source: undefined });
        report(actor, { type: 'snapshot', event, snapshot });
        const children: { readonly [id: string]: AnyActorRef | undefined } = snapshot.children;
        for (const child of Object.values(children)) if (child !== undefined) report(child, { type: 'met' });
      };
      run.watch({ onLine: () => undefined, onMove, onEvent: () => undefined });
      return { ended: () => run.watch(null) };
    },
    attachActor: ({ actor, seal }) => {
      seals.add(seal);
      report(actor, { type: 'met' });
      const { unsubscribe } = actor.system.inspect(inspect);
      return unsubscribe;
    },
    close: () => {
      if (closed) return;
      closed = true;
      own?.stop();
    },
    [Symbol.dispose]: () => output.close(),
  };
  return output;
}
