// `signalbox/react`: a run in a component. React is an optional peer; the store without it is `signalbox/store`.
export { useRun } from './use-run.ts';
export { runStore } from '../store/run-store.ts';
export type { UsedRun } from './use-run.ts';
export type { RunStoreOptions } from '../store/run-link.ts';
export type { RunStore } from '../store/run-store.ts';
export type {
  CallView,
  MessageView,
  PendingView,
  RunActions,
  RunOf,
  RunSnapshot,
  ViewError,
} from '../store/view-types.ts';
