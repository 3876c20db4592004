/**
 * Owns: what the server of a connection asks back: who answers, how long, and that the calls under way know of it. Does
 * not own: the form of questions and answers on the wire.
 *
 * I1 While a question is open, the time limits of the calls under way rest: a person may be slow.
 * I2 A question that came during calls is withdrawn when none of them is under way any more.
 * I3 A model is asked only during a call, and at most `MAX_SAMPLES` times until all calls have ended.
 */
import type { McpQuestion } from '../actors/mcp-calls.ts';
import type { McpAnswers, McpElicit, McpSampling } from './answers.ts';
import type { CallDesk } from './call-desk.ts';
import { checkElicited } from './check-elicited.ts';
import type { McpResolvedSettings } from './config.ts';
import { REFUSAL, rpcRefusal } from './rpc-refusal.ts';

interface QuestionsOptions {
  readonly server: string;
  readonly sampling: McpResolvedSettings['sampling'];
  readonly desk: Pick<CallDesk, 'underWay' | 'quiet' | 'rest' | 'tell'>;
  readonly answers: McpAnswers;
}

const MAX_SAMPLES = 20;

/** Makes the answers that the server on one link gets, out of those that its user gave. */
export function createQuestions({ server, sampling, desk, answers }: QuestionsOptions) {
  let samples = 0;

  /** Does the work of one question while the calls under way rest. */
  const open = async <T>(
    generation: number,
    outer: AbortSignal,
    work: (signal: AbortSignal) => T | Promise<T>,
  ): Promise<T> => {
    const withdrawn = new AbortController();
    const wake = desk.rest(generation);
    if (desk.underWay(generation) > 0) void desk.quiet(generation).then(() => withdrawn.abort());
    try {
      return await untilAborted(work, AbortSignal.any([outer, withdrawn.signal]));
    } finally {
      wake();
    }
  };
  const tell = (generation: number, question: McpQuestion): void => desk.tell(generation, question);

  const elicitOn =
    (generation: number, elicit: McpElicit): McpElicit =>
    async (question, { signal }) => {
      tell(generation, { phase: 'asked', kind: 'elicitation', server, message: question.message });
      const told = { phase: 'answered', kind: 'elicitation', server, usage: null } as const;
      try {
        const given = await open(generation, signal, (own) => elicit(question, { signal: own }));
        const checked = checkElicited(given, question.schema);
        if (!checked.ok) throw new Error(`the given answer does not fit: ${checked.problem}`);
        const { answer } = checked;
        const content = answer.action === 'accept' ? answer.content : {};
        tell(generation, { ...told, action: answer.action, content });
        return answer;
      } catch (thrown) {
        tell(generation, { ...told, action: 'cancel', content: {} });
        throw thrown;
      }
    };

  const sampleOn =
    (generation: number, sample: NonNullable<McpAnswers['sample']>): NonNullable<McpAnswers['sample']> =>
    async (request, { signal }) => {
      const underWay = desk.underWay(generation) > 0;
      if (underWay && samples === 0) void desk.quiet(generation).then(() => (samples = 0));
      samples += 1;
      if (!underWay) throw rpcRefusal(REFUSAL.rejected, 'This client replies only while it has a call under way');
      if (samples > MAX_SAMPLES)
        throw rpcRefusal(REFUSAL.rejected, `More than ${MAX_SAMPLES} requests during one call`);
      tell(generation, { phase: 'asked', kind: 'sampling', server, message: lastWordsOf(request) });
      const told = { phase: 'answered', kind: 'sampling', server } as const;
      try {
        const reply = await open(generation, signal, (own) =>
          sample(request, { signal: own, confirm: sampling !== true }),
        );
        tell(generation, { ...told, action: 'accept', content: { text: reply.text }, usage: reply.usage ?? null });
        return reply;
      } catch (thrown) {
        tell(generation, { ...told, action: 'decline', content: {}, usage: null });
        throw thrown;
      }
    };

  return {
    /** The answers for the server on one link. */
    on(generation: number, roots: McpAnswers['roots']): McpAnswers {
      const { elicit } = answers;
      const sample = typeof sampling === 'function' ? sampling : sampling === false ? undefined : answers.sample;
      return {
        ...(roots === undefined ? {} : { roots }),
        ...(elicit === undefined ? {} : { elicit: elicitOn(generation, elicit) }),
        ...(sample === undefined ? {} : { sample: sampleOn(generation, sample) }),
      };
    },
  };
}

/** Who was asked need not mind the signal: nobody waits for the answer then. */
async function untilAborted<T>(work: (signal: AbortSignal) => T | Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(new Error('the question was withdrawn'));
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work(signal), aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

function lastWordsOf({ messages }: McpSampling): string {
  return messages.at(-1)?.text ?? '';
}
