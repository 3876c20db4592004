export { replay } from '../journal/replay.ts';
export { fakeTool } from './fake-tool.ts';
export { scriptedModel } from './scripted-model.ts';
export type { FakeTool } from './fake-tool.ts';
export type { ScriptedModel, ScriptedReply } from './scripted-model.ts';
