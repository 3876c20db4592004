import type { Model } from '../../src/index.ts';
import { hostileModel } from '../../src/testing/index.ts';
import { SUBJECTS, type SimulatedSubject } from './subjects.ts';

const TURNS = 24;
/** One tool is offered always; the model then answers seldom in so many attempts. */
const ATTEMPTS = 30;

/** A model that calls what is offered for many turns before it answers. */
function talkative(seed: number): Model {
  const inventing = hostileModel({ seed, rate: 0 });
  let turns = 0;
  return {
    id: 'talkative',
    complete: async (request, io) => {
      let reply = { content: 'Done.' };
      for (let attempt = turns++ < TURNS ? 0 : ATTEMPTS; attempt < ATTEMPTS; attempt++) {
        const invented = await inventing.complete(request, io);
        if (invented.toolCalls === undefined) continue;
        reply = invented;
        break;
      }
      return reply;
    },
  };
}

/** The agents of the subjects in runs as long as those of a day's work: what is found in them is shrunk. */
export const LONG_SUBJECTS: readonly SimulatedSubject[] = SUBJECTS.map(({ name, agent, options }) => {
  const { model } = options;
  const long = Array.isArray(model) ? [model, model, model].flatMap((list) => list.slice(0, -1)) : null;
  return {
    name,
    agent: (given) => agent({ ...given, maxSteps: 3 * TURNS }),
    options: { ...options, model: long === null ? talkative : [...long, 'Done.'] },
  };
});
