export { createInspector } from './create-inspector.ts';
export { toResponse } from './to-response.ts';
export type { Inspector, InspectorOptions } from './create-inspector.ts';
export type { Attachment, RunPort, WatchedRun } from './run-port.ts';
export type { ToResponseOptions } from './to-response.ts';
