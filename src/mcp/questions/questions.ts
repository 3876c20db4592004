/**
 * Owns: what the server of a connection asks back: who answers, how often, how long, and that the calls under way are
 * notified. Does not own: the form of questions and answers on the wire.
 *
 * I1 While a question is open, the time limits of the calls under way rest: a person may be slow.
 * I2 A question is put only during a call, and withdrawn when none is under way any more.
 * I3 A person is asked one question at a time, and so is a model; each at most `perCall` times for each call that
 *    was under way at once, counted until all have ended.
 * I4 What a person typed as a secret goes to the server alone; what follows the calls gets a mark, and receives the text
 *    that must not be seen.
 */
import type { McpResolvedSettings } from '../config/config.ts';
import type { CallQueue } from '../calls/call-queue.ts';
import type { McpAnswers, McpElicit, McpElicitation, McpElicitationAnswer } from '../config/answers.ts';
import type { ProtocolWarning } from '../wire/link.ts';
import { McpError, type McpQuestion } from '../../actors/mcp/mcp-calls.ts';
import { isList } from '../../json/depth.ts';
import { type JsonObject, isJsonObject } from '../../json/json.ts';
import { checkElicited, hiddenTexts, maskedAnswer } from './form-answers.ts';
import { REFUSAL, readPageRequest, rpcRefusal } from '../link/answer-request.ts';
import { HIDDEN } from '../../actors/redactor.ts';
import { LinkFault } from '../wire/faults.ts';

interface QuestionsOptions {
  /** How many questions to a person, and likewise requests to the model, are passed on for one call. */
  readonly perCall: number;
  readonly server: string;
  readonly sampling: McpResolvedSettings['sampling'];
  readonly queue: Pick<CallQueue, 'underWay' | 'quiet' | 'pause' | 'ask' | 'hide'>;
  readonly answers: McpAnswers;
  readonly onWarning: (warning: ProtocolWarning) => void;
}

type Kind = McpQuestion['kind'];

type Sampler = NonNullable<McpAnswers['sample']>;

/** What the server of a connection asks back, and the answers that it gets, out of those that the user gave. */
export class Questions {
  readonly #options: QuestionsOptions;
  readonly #asked: Record<Kind, number> = { elicitation: 0, sampling: 0 };
  readonly #turns: Record<Kind, Promise<unknown>> = { elicitation: Promise.resolve(), sampling: Promise.resolve() };
  /** The most calls that were under way at once since there were none. */
  #most = 0;

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** The answers for the server on one link. */
  on(generation: number, roots: McpAnswers['roots']): McpAnswers {
    const { sampling, answers } = this.#options;
    const { elicit } = answers;
    const sample = typeof sampling === 'function' ? sampling : sampling === false ? undefined : answers.sample;
    return {
      ...(roots === undefined ? {} : { roots }),
      ...(elicit === undefined ? {} : { elicit: this.#elicitOn(generation, elicit) }),
      ...(sample === undefined ? {} : { sample: this.#sampleOn(generation, sample) }),
    };
  }

  /**
   * Does a call; if the server wants a person to open pages first, asks the person and calls again. Rejects with a {@link
   * McpError} that says what to do if they were not opened.
   */
  async afterPages<T>(
    { generation, what, signal }: { readonly generation: number; readonly what: string; readonly signal: AbortSignal },
    call: () => Promise<T>,
  ): Promise<T> {
    const { server, answers } = this.#options;
    const elicit: McpElicit = answers.elicit ?? (() => ({ action: 'decline' }));
    try {
      return await call();
    } catch (fault) {
      const pages = pagesIn(fault, server);
      for (const page of pages) {
        const { action } = await this.#elicitOn(generation, elicit)(page, { signal });
        if (action !== 'accept') throw pageError(server, { what, pages, fault });
      }
      if (pages.length === 0) throw fault;
      return call().catch((again: unknown) => {
        const left = pagesIn(again, server);
        throw left.length === 0 ? again : pageError(server, { what, pages: left, fault: again });
      });
    }
  }

  #elicitOn(generation: number, elicit: McpElicit): McpElicit {
    return async (question, { signal }) => {
      const refusal = this.#refusalOf(generation, 'elicitation');
      if (refusal === null) return this.#put(generation, question, { elicit, outer: signal });
      const message = `${refusal}, and was declined: ${question.message.slice(0, 300)}`;
      this.#options.onWarning({ kind: 'unanswered', message });
      return { action: 'decline' };
    };
  }

  #sampleOn(generation: number, sample: Sampler): Sampler {
    const { server, sampling, queue, onWarning } = this.#options;
    return async (request, { signal }) => {
      const refusal = this.#refusalOf(generation, 'sampling');
      if (refusal !== null) {
        onWarning({ kind: 'unanswered', message: `${refusal} for a reply of the model, and got none` });
        throw rpcRefusal(REFUSAL.rejected, `This client gives no reply: ${refusal}`);
      }
      const answered = { phase: 'answered', kind: 'sampling', server } as const;
      try {
        const reply = await this.#open({ generation, kind: 'sampling', outer: signal }, (own) => {
          const message = request.messages.at(-1)?.text ?? '';
          queue.ask(generation, { phase: 'asked', kind: 'sampling', server, message });
          return sample(request, { signal: own, confirm: sampling !== true });
        });
        const usage = reply.usage ?? null;
        queue.ask(generation, { ...answered, action: 'accept', content: { text: reply.text }, usage });
        return reply;
      } catch (thrown) {
        queue.ask(generation, { ...answered, action: 'decline', content: {}, usage: null });
        throw thrown;
      }
    };
  }

  /** Asks a person one question and returns the answer for the server. Secrets are hidden before anyone else receives it. */
  async #put(
    generation: number,
    question: McpElicitation,
    { elicit, outer }: { readonly elicit: McpElicit; readonly outer: AbortSignal },
  ): Promise<McpElicitationAnswer> {
    const { server, queue } = this.#options;
    const { message, schema } = question;
    const page = question.mode === 'url' ? { url: question.url, origin: question.origin } : {};
    const answered = { phase: 'answered', kind: 'elicitation', server, usage: null } as const;
    try {
      const given = await this.#open({ generation, kind: 'elicitation', outer }, (own) => {
        queue.ask(generation, { phase: 'asked', kind: 'elicitation', server, message, ...page });
        return elicit(question, { signal: own });
      });
      const typed: unknown = given.action === 'accept' ? given.content : {};
      const secrets = isJsonObject(typed) ? hiddenTexts(typed, schema) : [];
      queue.hide(generation, secrets);
      const checked = checkElicited(given, schema);
      if (!checked.ok) throw new Error(`the given answer does not fit: ${without(secrets, checked.problem)}`);
      const { answer } = checked;
      const content = answer.action === 'accept' ? maskedAnswer(answer.content, schema) : {};
      queue.ask(generation, { ...answered, action: answer.action, content });
      return answer;
    } catch (thrown) {
      queue.ask(generation, { ...answered, action: 'cancel', content: {} });
      throw thrown;
    }
  }

  /** Does the work of one question, when those before it are done and while the calls under way rest. */
  async #open<T>(
    { generation, kind, outer }: { readonly generation: number; readonly kind: Kind; readonly outer: AbortSignal },
    work: (signal: AbortSignal) => T | Promise<T>,
  ): Promise<T> {
    const { queue } = this.#options;
    const withdrawn = new AbortController();
    const resume = queue.pause(generation);
    void queue.quiet(generation).then(() => withdrawn.abort());
    const signal = AbortSignal.any([outer, withdrawn.signal]);
    const before = this.#turns[kind];
    const { promise: over, resolve: end } = Promise.withResolvers<undefined>();
    this.#turns[kind] = before.then(() => over);
    try {
      return await untilAborted(async () => {
        await before;
        signal.throwIfAborted();
        return work(signal);
      }, signal);
    } finally {
      end(undefined);
      resume();
    }
  }

  /** Why a question is not passed on; null when it is. */
  #refusalOf(generation: number, kind: Kind): string | null {
    const { queue, perCall } = this.#options;
    const calls = queue.underWay(generation);
    if (calls === 0) return 'it asked while no call was under way';
    if (this.#most === 0) void queue.quiet(generation).then(() => this.#forget());
    this.#most = Math.max(this.#most, calls);
    this.#asked[kind] += 1;
    return this.#asked[kind] > perCall * this.#most ? `it asked more than ${perCall} times during one call` : null;
  }

  #forget(): void {
    [this.#most, this.#asked.elicitation, this.#asked.sampling] = [0, 0, 0];
  }
}

/** MCP's code for "a person must open a page first". */
const PAGES_REQUIRED = -32042;

/** The pages that a server wants opened before it carries a call out; none for any other fault. */
function pagesIn(fault: unknown, server: string) {
  const error: JsonObject = fault instanceof LinkFault && fault.kind === 'answer' ? fault.data : {};
  if (error.code !== PAGES_REQUIRED || !isJsonObject(error.data)) return [];
  const { elicitations } = error.data;
  return (isList(elicitations) ? elicitations : []).flatMap((one) =>
    isJsonObject(one) ? (readPageRequest(server, one) ?? []) : [],
  );
}

function pageError(
  server: string,
  about: { readonly what: string; readonly pages: ReturnType<typeof pagesIn>; readonly fault: unknown },
): McpError {
  const origins = [...new Set(about.pages.map(({ origin }) => origin))];
  const [first] = about.pages;
  const message =
    `MCP server '${server}' carries ${about.what} out only after a person has opened a page at ${origins.join(', ')}, and says: ` +
    `${JSON.stringify((first?.message ?? '').slice(0, 300))}. Nobody has done that. Ask the person to, then call it again; it was not carried out.`;
  return new McpError('page-required', server, message, about.fault, { origins });
}

function without(secrets: readonly string[], text: string): string {
  return secrets.reduce((left, secret) => (secret === '' ? left : left.replaceAll(secret, HIDDEN)), text);
}

/** The function that asks may ignore the signal: its answer is no longer awaited. */
async function untilAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(new Error('the question was withdrawn'));
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
