// `signalbox/store`: a run for a user interface, without React. Its graph has nothing of Node, XState or zod.
export { foldEvent, NO_EVENTS } from './run-fold.ts';
export { runStore } from './run-store.ts';
export type { SentGroup, RequestAnswer, StoreRequest, RunStoreOptions } from './run-link.ts';
export type { RunStore } from './run-store.ts';
export type { RunFold, ShownEvent } from './run-fold.ts';
export type { CallView, MessageView, PendingView, RunActions, RunOf, RunSnapshot, ViewError } from './view-types.ts';
