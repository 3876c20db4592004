import '../platform.ts';
export { createInspector } from './create-inspector.ts';
export { MissingPackageError, statelyOutput } from './stately-output.ts';
export { toResponse } from './to-response.ts';
export type { Inspector, InspectorOptions } from './create-inspector.ts';
export type { Attachment, RunPort, WatchedActor, WatchedRun } from './frames/run-port.ts';
export type { SentField, ToResponseOptions } from './to-response.ts';
export type { StatelyOutput, StatelyOutputOptions, StatelyTarget } from './stately-output.ts';
