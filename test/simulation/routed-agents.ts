import { z } from 'zod';
import { type Agent, type AgentOptions, type Message, type Model, createAgent, skill } from '../../src/index.ts';
import type { SimulateOptions, simulate } from '../../src/testing/index.ts';
import { type Draw, drawOf } from './generated-agents.ts';
import { Parts } from './varied-agents.ts';

/** What was said before, with an image of the user's, and a long result. */
const PAST: readonly Message[] = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Look.' },
      { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' },
    ],
  },
  { role: 'assistant', content: '', toolCalls: [{ id: 'past', name: 'tool_0', arguments: '{}' }] },
  { role: 'tool', toolCallId: 'past', name: 'tool_0', content: 'x'.repeat(900) },
  { role: 'assistant', content: 'I see.' },
];

/** The model that is simulated, by other names, each with what it takes. */
function modelsOf(given: AgentOptions['model'], draw: Draw): readonly Model[] {
  if (typeof given !== 'object' || !('complete' in given)) return [];
  const named = (id: string): Model => ({
    ...given,
    id,
    takesImages: draw(2) === 0,
    toolCalling: draw(3) === 0 ? 'json' : 'native',
    complete: (request, io) => given.complete(request, io),
  });
  return ['one', 'two', 'three'].slice(draw(3)).map(named);
}

/** Who decides about an escalation: by another model, a skill, an agent below, the one above, or a person. */
function routed(parts: Parts, below: readonly Agent[]): NonNullable<AgentOptions['onEscalation']> {
  const verdict = parts.upTo(8);
  const [child] = below;
  return (_error, to) =>
    [
      () => to.retryWithModel('other'),
      () => to.reroute('aside'),
      () => (child === undefined ? to.partialResult('half') : to.reroute(child)),
      () => (child === undefined ? undefined : to.reroute(child.name)),
      () => to.escalate('worse', 'high'),
      () => to.throwException('end'),
      () => to.askHuman('May I?'),
      () => undefined,
    ][verdict]?.();
}

/**
 * An agent of several models, with skills, repair agents and agents below, each of which may hand its errors on to another,
 * which follows from a number, and how to simulate it.
 */
export function routedAgent(number: number): {
  readonly agent: Parameters<typeof simulate>[0];
  readonly options: SimulateOptions;
} {
  const agent = (options: AgentOptions) => {
    const draw = drawOf(number * 17 + 3);
    const models = modelsOf(options.model, draw);
    const [other = 'practice'] = models;
    const parts = new Parts(draw, { ...options, model: models });
    const common = (): AgentOptions => ({
      model: models,
      models: { other },
      skills: [skill({ name: 'aside', instructions: 'Use it.', tools: [parts.tool('skilled')] })],
      tools: parts.many(1, 3, (index) => parts.tool(`tool_${index}`)),
      ...(parts.once(2) ? { onError: { executionError: parts.slot(true) } } : {}),
      ...(parts.once(4) ? { maxConsecutiveRepeats: 2 } : {}),
    });
    const below = (depth: number): readonly Agent[] =>
      depth === 0
        ? []
        : parts.many(0, 2, (index) => {
            const children = below(depth - 1);
            return createAgent({
              ...common(),
              name: `below_${depth}_${index}`,
              description: 'Helps.',
              silent: true,
              maxSteps: 1 + parts.upTo(3),
              children,
              ...(parts.once(2) ? { onEscalation: routed(parts, children) } : {}),
              ...(options.seed === undefined ? {} : { seed: options.seed }),
            });
          });
    const children = below(parts.upTo(4));
    const made: AgentOptions = {
      ...common(),
      ...parts.limits(),
      children,
      history: parts.once(2) && models.some(({ takesImages }) => takesImages === true) ? PAST : [],
      plans: parts.once(2),
      parallelToolCalls: parts.once(2),
      onEscalation: routed(parts, children),
      ...(parts.once(3) ? { maxHistoryMessages: 1 + parts.upTo(6) } : {}),
      ...options,
      model: models,
    };
    if (!parts.once(3)) return createAgent(made);
    const outputSchema = parts.one<z.ZodType>(z.object({ n: z.number() }), z.array(z.string()), z.string());
    return createAgent<unknown, z.ZodType>({ ...made, outputSchema });
  };
  const servers = { box: [{ name: 'read', annotations: { readOnlyHint: true } }, { name: 'drop' }] };
  return { agent, options: number % 5 === 3 ? { servers } : {} };
}
