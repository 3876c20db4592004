import { isJsonObject, type Json } from '../../json/json.ts';
import type { Decision, PracticeCall, Scene } from './scene.ts';

/** A tool call in a reply; its arguments are text, so that they can be wrong. */
export interface RenderedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** What a reply consists of, before it is put on the wire. */
export interface RenderedReply {
  readonly content: string;
  readonly reasoning: string;
  readonly calls: readonly RenderedCall[];
  readonly finishReason: 'stop' | 'tool_calls' | 'length';
}

/** Puts a decision into the form that was asked for: native tool calls, or the JSON envelope as text. */
export function renderReply(decision: Decision, scene: Scene): RenderedReply {
  return scene.native || scene.tools.length === 0 ? renderNative(decision, scene) : renderEnvelope(decision, scene);
}

function renderNative(decision: Decision, scene: Scene): RenderedReply {
  switch (decision.kind) {
    case 'answer':
      return { content: decision.text, reasoning: '', calls: [], finishReason: 'stop' };
    case 'calls':
      return callsOf(decision.thought, decision.calls, scene);
    case 'plan': {
      const planner = scene.tools.find((tool) => tool.name === 'make_plan');
      // Without a way to hand in a plan its steps are asked for all at once.
      if (planner === undefined) return callsOf(decision.thought, decision.steps, scene);
      const properties = isJsonObject(planner.schema['properties']) ? planner.schema['properties'] : {};
      const list = Object.entries(properties).find(
        ([, value]) => isJsonObject(value) && value['type'] === 'array',
      )?.[0];
      const call = { tool: planner.name, args: { [list ?? 'plan']: planOf(decision.steps) } };
      return callsOf(decision.thought, [call], scene);
    }
  }
}

function callsOf(thought: string, calls: readonly PracticeCall[], scene: Scene): RenderedReply {
  const rendered = calls.map(({ tool, args }, at) => ({
    id: `call_${String(scene.turn)}_${String(at)}`,
    name: tool,
    arguments: JSON.stringify(args),
  }));
  return { content: thought, reasoning: '', calls: rendered, finishReason: 'tool_calls' };
}

/** An envelope holds one call: the others come in the turns after. */
function renderEnvelope(decision: Decision, scene: Scene): RenderedReply {
  const content = JSON.stringify(envelopeOf(decision, scene));
  return { content, reasoning: '', calls: [], finishReason: 'stop' };
}

function envelopeOf(decision: Decision, scene: Scene): Json {
  switch (decision.kind) {
    case 'answer':
      return { thought: 'I can answer now.', answer: decision.text };
    case 'plan':
      return { thought: decision.thought, goal: scene.question, plan: planOf(decision.steps) };
    case 'calls': {
      const call = decision.calls[0];
      return { thought: decision.thought, goal: scene.question, tool: call?.tool ?? '', tool_args: call?.args ?? {} };
    }
  }
}

function planOf(steps: readonly PracticeCall[]): Json {
  return steps.map(({ tool, args }) => ({ tool, tool_args: args }));
}
