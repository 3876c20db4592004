// As inferred.ts, of the machines: all that an agent's actors are made of has a name there.
import { createAgent } from 'signalbox';
import * as machines from 'signalbox/machines';
import { createActor } from 'xstate';

export const { actors } = createAgent({});
export const ours = machines.agentMachine.provide({ actors });
export const actor = createActor(ours, { input: { task: 'Refund it.' } });
export const all = { ...machines };
export const model = machines.llmCallMachine.provide({});
export const call = actors.toolCall.provide({ delays: { pause: 10 } });
export const turn = createActor(machines.llmCallMachine, { input: {} as machines.LlmCallInput }).getSnapshot();
export const { context, children } = createActor(call, { input: {} as machines.ToolCallInput }).getSnapshot();
