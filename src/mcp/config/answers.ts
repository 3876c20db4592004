import type { JsonObject } from '../../json/json.ts';
import type { Usage } from '../../actors/model.ts';

/** A question of a server to the person behind the agent: a form to fill in, or a page to open. */
export type McpElicitation = McpFormElicitation | McpUrlElicitation;

/** A form. What is typed into a field of `format: "password"`, or one called like a secret, goes to the server alone. */
export interface McpFormElicitation {
  readonly mode?: 'form';
  readonly server: string;
  readonly message: string;
  /** JSON Schema of the wanted answer: an object of plain values. */
  readonly schema: JsonObject;
}

/**
 * A page that the server wants opened, such as a login or a payment. Nothing here opens it. Show `origin` and `url`, let
 * the person open it if they trust it, and answer `accept` once they report that they are done, else `decline`.
 */
export interface McpUrlElicitation {
  readonly mode: 'url';
  readonly server: string;
  readonly message: string;
  /** https, or http on this machine; in ASCII, as a browser shows it. */
  readonly url: string;
  /** Scheme, host and port of the address: what a person should look at. */
  readonly origin: string;
  /** Nothing is to be typed. */
  readonly schema: JsonObject;
}

/** The answer to a {@link McpElicitation}. */
export type McpElicitationAnswer =
  | { readonly action: 'accept'; readonly content: JsonObject }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/**
 * Puts a server's question to a person. An accepted answer is checked against the question's schema before it is sent; if
 * it does not fit, or the function throws, `cancel` is sent. `signal` withdraws the question.
 */
export type McpElicit = (
  question: McpElicitation,
  io: { readonly signal: AbortSignal },
) => McpElicitationAnswer | Promise<McpElicitationAnswer>;

/** A server's request for a reply of your model. */
export interface McpSampling {
  readonly server: string;
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[];
  readonly systemPrompt?: string;
  /** The longest reply in tokens that it wants. */
  readonly maxTokens: number;
  readonly temperature?: number;
}

/** A reply given to a server. */
export interface McpSampled {
  readonly text: string;
  /** The model that gave it. */
  readonly model: string;
  /** True when it was cut off at its longest. */
  readonly truncated?: boolean;
  readonly usage?: Usage;
}

/** Replies to a server in the place of your model. Throws to refuse; the server receives no more than that. */
export type McpSampler = (
  request: McpSampling,
  io: { readonly signal: AbortSignal },
) => McpSampled | Promise<McpSampled>;

/** A folder that servers may work in: a `file://` URI. */
export interface McpRoot {
  readonly uri: string;
  readonly name?: string;
}

/** Answers to what servers may ask of their client. What is missing is not offered to them. */
export interface McpAnswers {
  readonly roots?: (() => readonly McpRoot[] | Promise<readonly McpRoot[]>) | undefined;
  readonly elicit?: McpElicit | undefined;
  /** Used for servers whose entry has `sampling: true` or `'confirm'`; `confirm`: a person must agree first. */
  readonly sample?:
    | ((
        request: McpSampling,
        io: { readonly signal: AbortSignal; readonly confirm: boolean },
      ) => McpSampled | Promise<McpSampled>)
    | undefined;
}
