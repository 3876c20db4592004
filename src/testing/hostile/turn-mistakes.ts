import { ModelError } from '../../actors/model.ts';
import { garbling, losing } from './mistake.ts';
import { inCalls, saidOf } from './said.ts';

/** Mistakes in what is called, and in the whole turn. */
export const TURN_MISTAKES = {
  'wrong-name': losing(({ said, random }) =>
    inCalls(said, ({ name, args }) => ({
      name: random.pick([`${name}_now`, name.slice(1), 'search_the_web', `functions.${name}`, name.toUpperCase(), '']),
      args,
    })),
  ),

  'repeated-reply': losing(({ before, request }) => (before === null ? null : saidOf(before, request))),

  'doubled-call': garbling(({ said }) =>
    said.calls.length === 0 ? null : { ...said, calls: said.calls.flatMap((call) => [call, call]) },
  ),

  'same-ids': garbling(({ said }) =>
    said.calls.length === 0 ? null : { ...said, calls: said.calls.map((call) => ({ ...call, id: 'call_0' })) },
  ),

  'bad-plan': losing(({ said, random, request }) => {
    const plan = random.pick(['[]', '[{}]', '"first this, then that"', '[{"tool_args": {}}]', '[null, 3]']);
    return request.toolCalling === 'native' && (request.tools ?? []).length > 0
      ? { ...said, content: '', calls: [{ name: 'make_plan', args: `{"plan": ${plan}}` }] }
      : { ...said, calls: [], content: `{"thought": "I plan.", "plan": ${plan}}` };
  }),

  'server-error': losing(({ random }) =>
    random.pick([
      new ModelError('server-error', 'the server failed (hostile)', { status: 500 }),
      new ModelError('rate-limited', 'too many requests (hostile)', { status: 429, retryAfterMs: 1 }),
      new ModelError('connect-failed', 'the server hung up (hostile)'),
      new ModelError('bad-response', 'the reply was no reply (hostile)'),
    ]),
  ),

  'unreadable-call': losing(({ said, random }) => {
    const args = said.calls[0]?.args ?? said.content;
    const text = args.slice(0, random.below(args.length + 1));
    return new ModelError('malformed-tool-call', 'could not parse the tool call (hostile)', { data: { text } });
  }),

  'no-native-tools': losing(({ request }) =>
    request.toolCalling === 'native' ? new ModelError('no-native-tools', 'this model takes no tools (hostile)') : null,
  ),
} as const;
