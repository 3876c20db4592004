import {
  type AnyActorScope,
  type AnyStateMachine,
  assign,
  cancel,
  createMachine,
  emit,
  enqueueActions as enqueueActionsOf,
  initialTransition,
  raise,
  sendParent,
  sendTo,
  spawnChild,
  stopChild,
} from 'xstate';
import { OURS } from '../../actors/leaf.ts';

/**
 * The same machine, whose actors are garbage as soon as they have ended. In each step XState puts a new function on a property of
 * its scope, which notes the actions for callers that this machine does not have. V8 takes such functions for methods and makes
 * them in its old generation; what they refer to (the actions, and by them the whole run) is copied there too, and stays until
 * the next full collection. So each step gets a scope of its own, which keeps its function.
 */
export function shortLived<T extends AnyStateMachine>(machine: T): T {
  return FIRST_STEP[0].status === 'error' ? machine : inOwnScopes(machine);
}

function inOwnScopes<T extends AnyStateMachine>(machine: T): T {
  const { transition, getInitialSnapshot, provide } = machine;
  return Object.assign(machine, {
    [OURS]: true,
    transition: (snapshot: never, event: never, scope: AnyActorScope) =>
      transition(snapshot, event, new StepScope(scope)),
    getInitialSnapshot: (scope: AnyActorScope, input: unknown) => getInitialSnapshot(new StepScope(scope), input),
    provide: (implementations: never) => inOwnScopes(provide.call(machine, implementations)),
  });
}

class StepScope implements AnyActorScope {
  readonly self: AnyActorScope['self'];
  readonly id: string;
  readonly sessionId: string;
  readonly logger: AnyActorScope['logger'];
  readonly defer: AnyActorScope['defer'];
  readonly emit: AnyActorScope['emit'];
  readonly system: AnyActorScope['system'];
  readonly stopChild: AnyActorScope['stopChild'];
  readonly #execute: AnyActorScope['actionExecutor'];

  constructor(scope: AnyActorScope) {
    this.self = scope.self;
    this.id = scope.id;
    this.sessionId = scope.sessionId;
    this.logger = scope.logger;
    this.defer = scope.defer;
    this.emit = scope.emit;
    this.system = scope.system;
    this.stopChild = scope.stopChild;
    this.#execute = scope.actionExecutor;
  }

  get actionExecutor(): AnyActorScope['actionExecutor'] {
    return StepScope.#perform;
  }

  set actionExecutor(_noting) {
    // Nobody reads what it would note.
  }

  /** One function for all: it is called on its scope. */
  static readonly #perform = function (this: StepScope, action) {
    this.#execute(action);
  } as AnyActorScope['actionExecutor'];
}

/**
 * A step that fails in a version of XState that calls the function in another way: it keeps its own scopes. The step is kept, for
 * where a full collection finds no scope, actor or `spawnChild`, V8 drops the code that it had compiled for their hidden classes.
 */
const FIRST_STEP = initialTransition(inOwnScopes(createMachine({ entry: spawnChild(createMachine({})) })));

/**
 * XState's `enqueueActions` without the functions that it makes for each call: V8 makes functions that are assigned to a
 * property in its old generation, where they keep the run that they refer to until the next full collection. There is no `check`.
 */
export const enqueueActions: typeof enqueueActionsOf = (collect) => {
  const action = enqueueActionsOf(collect);
  const own: unknown = Reflect.get(action, 'resolve');
  // A version of XState without these five parameters does it itself.
  if (typeof own !== 'function' || own.length !== 5) return action;
  const resolve = (_scope: unknown, snapshot: unknown, args: object, params: never): unknown => {
    const before = queue;
    const actions: unknown[] = [];
    queue = actions;
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what XState passes on, but for `check`
      collect({ ...args, enqueue } as unknown as Parameters<typeof collect>[0], params);
    } finally {
      queue = before;
    }
    return [snapshot, undefined, actions];
  };
  return Object.assign(action, { resolve });
};

let queue: unknown[] = [];

function queued(make: (...given: never[]) => unknown): (...given: never[]) => void {
  return (...given) => {
    queue.push(make(...given));
  };
}

const enqueue = Object.assign(
  queued((action: unknown) => action),
  {
    assign: queued(assign),
    cancel: queued(cancel),
    emit: queued(emit),
    raise: queued(raise),
    sendParent: queued(sendParent),
    sendTo: queued(sendTo),
    spawnChild: queued(spawnChild),
    stopChild: queued(stopChild),
  },
);
