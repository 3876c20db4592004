import { POLICIES, type Effects, type Policy } from '../../tools/spec.ts';
import type { ValidateContext } from '../../tools/tool.ts';
import type { JsonObject } from '../../json/json.ts';
import type { ShapeOf } from '../../json/shape.ts';
import { z } from '../../json/shapes.ts';
import type { McpSampler } from './answers.ts';
import { type CheckedAuth, type McpAuth, authSchema } from './auth.ts';
import type { McpToolAnnotations } from '../../actors/mcp/mcp-calls.ts';

/** Settings for one tool of a server, which override those of the server and its annotations. */
export interface McpToolOverride {
  readonly policy?: Policy | undefined;
  /**
   * Which calls a person must approve, as `needsApproval` of your own tools: the policy is then `confirm`.
   *
   * @example needsApproval: ({ repo }) => repo !== 'sandbox'
   */
  readonly needsApproval?: ((args: JsonObject, context: ValidateContext) => boolean | Promise<boolean>) | undefined;
  /** Runs before anyone is asked, and before the call is sent. Return the arguments to send (default: unchanged), or throw. */
  readonly validateArgs?: ((args: JsonObject, context: ValidateContext) => unknown) | undefined;
  readonly effects?: Effects | undefined;
  /** Longest time for one call, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** The tool may be called with the same arguments again and again (it waits for something). */
  readonly polling?: boolean | undefined;
  /** Recovery steps for this tool; passed on unchanged. */
  readonly onError?: unknown;
}

/** Settings of any server, however it is reached. */
export interface McpServerSettings {
  /** Whether calls need approval. `by-annotations` asks {@link policyFromAnnotations}. Default: the agent's own default. */
  readonly policy?: Policy | 'by-annotations' | undefined;
  /** Only these tools, by the server's own names. */
  readonly tools?: readonly string[] | undefined;
  /** All tools but these. */
  readonly exclude?: readonly string[] | undefined;
  /** A run fails when this server cannot be reached. Default false: it continues with a warning. */
  readonly required?: boolean | undefined;
  /** Longest time to connect, and again to list the tools. Default 30 000 ms, or `timeouts.connectMs` if that is longer. */
  readonly connectTimeoutMs?: number | undefined;
  /** Longest silence during a call. Default: the agent's `timeouts.toolMs`, else 180 000 ms. */
  readonly timeoutMs?: number | undefined;
  /** Longest time for one call all in all, however often the server reports progress. Default: ten times `timeoutMs`. */
  readonly maxTotalMs?: number | undefined;
  /**
   * Folders that the server should work in (roots): paths or `file://` URIs. Absent: servers receive none, and work with
   * what is in their arguments.
   */
  readonly roots?: readonly string[] | undefined;
  /**
   * Whether the server may ask your model for replies (sampling). `'confirm'`: if a person agrees to each; a function
   * replies itself. Default false: it is not offered.
   */
  readonly sampling?: boolean | 'confirm' | McpSampler | undefined;
  readonly overrides?: Readonly<Record<string, McpToolOverride>> | undefined;
  /**
   * What happens to a call that was sent when the connection broke. `unless-destructive` (default): it is sent again
   * after the reconnect, unless the tool is annotated as destructive and not idempotent. `safe`: only calls of tools
   * known to be read-only or idempotent are sent again.
   */
  readonly retryAfterLoss?: 'unless-destructive' | 'safe' | undefined;
  /**
   * How much the server is to log: messages of this level and above are emitted as `mcp.log`. Default: the server decides,
   * and all that it sends is emitted.
   */
  readonly logLevel?: McpLogLevel | undefined;
  /**
   * Speaks this version, which has no sessions, with a server that supports older clients too. Default: a session, as all
   * versions up to 2025-11-25 have it, and this version if the server refuses that.
   */
  readonly protocolVersion?: typeof STATELESS_VERSION | undefined;
  /** Leaves the server out without deleting its entry. */
  readonly disabled?: boolean | undefined;
}

/** A server that we start and talk to over its standard input and output. */
export interface McpStdioConfig extends McpServerSettings {
  readonly type?: 'stdio' | undefined;
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Added to a small safe part of our own environment, the rest of which does not reach the server. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /** Also end what the server started (POSIX: its process group, Linux: other sessions too, Windows: its tree). Default true. */
  readonly killTree?: boolean | undefined;
}

/** A server reached by URL: Streamable HTTP, or the older SSE transport if the server supports only that. */
export interface McpHttpConfig extends McpServerSettings {
  readonly type?: 'http' | 'streamable-http' | 'sse' | undefined;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * How to get a token: `'oauth'` or `oauth({ … })` by a person who signs in, `clientCredentials({ … })` by the credentials
   * of a program, or a function that returns one. Cannot be combined with an `Authorization` header. Default: no token.
   */
  readonly auth?: McpAuth | undefined;
}

/** One entry of the `mcpServers` object, as all MCP clients write it. */
export type McpServerConfig = McpStdioConfig | McpHttpConfig;

/** The `mcpServers` object: servers by name. */
export type McpServersConfig = Readonly<Record<string, McpServerConfig>>;

/** The version of the protocol that has no sessions. */
export const STATELESS_VERSION = '2026-07-28';

/** Where a server is and how it is reached, variables expanded. */
export type McpTarget =
  | {
      readonly kind: 'stdio';
      readonly protocolVersion?: typeof STATELESS_VERSION;
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
      readonly killTree: boolean;
    }
  | {
      readonly kind: 'http';
      readonly protocolVersion?: typeof STATELESS_VERSION;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** `auto` tries Streamable HTTP first. */
      readonly transport: 'auto' | 'streamable' | 'sse';
      readonly auth?: CheckedAuth;
    };

/** A checked entry with all defaults filled in. */
export interface McpServer {
  readonly name: string;
  readonly target: McpTarget;
  readonly settings: McpResolvedSettings;
}

/** The settings of a server with their defaults. `policy` stays open if none was chosen: the agent's default applies. */
export interface McpResolvedSettings {
  readonly policy?: Policy | 'by-annotations';
  readonly tools?: readonly string[];
  readonly exclude: readonly string[];
  readonly required: boolean;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  readonly maxTotalMs?: number;
  readonly roots?: readonly string[];
  readonly sampling: boolean | 'confirm' | McpSampler;
  readonly overrides: Readonly<Record<string, McpToolOverride>>;
  readonly retryAfterLoss: 'unless-destructive' | 'safe';
  readonly logLevel?: McpLogLevel;
  readonly disabled: boolean;
}

/** What decides whether a call of a tool may be repeated: the server's annotations, and the configuration that overrides them. */
export interface McpToolTraits {
  readonly annotations?: McpToolAnnotations;
  readonly override?: McpToolOverride;
}

/** A mistake in the configuration of MCP servers: it names the server and the key, or the file and the position. */
export class McpConfigError extends Error {
  override readonly name = 'McpConfigError';
  readonly code = 'mcp-config';
  readonly server: string | null;
  /** The path of the wrong value, `env.TOKEN`; null when the whole entry or file is meant. */
  readonly key: string | null;

  constructor(message: string, where: { readonly server?: string; readonly key?: string } = {}) {
    super(message);
    this.server = where.server ?? null;
    this.key = where.key ?? null;
  }
}

/** How severe a server's log message is, the least severe first: the levels of syslog. */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

/** A level of {@link LOG_LEVELS}. */
export type McpLogLevel = (typeof LOG_LEVELS)[number];

const time = z.number().positive('must be more than 0 (milliseconds)');
const policy = z.enum(POLICIES);
const text = z.string().min(1, 'must not be empty');
const variables = z.record(z.union([z.string(), z.number(), z.boolean()]).transform(String));

const sampler = z.custom<McpSampler>((value) => typeof value === 'function');

const ownCheck = <T>() => z.custom<T>((value) => typeof value === 'function', 'must be a function').optional();

/** An entry of `overrides`. */
export const overrideSchema = z.strictObject({
  policy: policy.optional(),
  needsApproval: ownCheck<NonNullable<McpToolOverride['needsApproval']>>(),
  validateArgs: ownCheck<NonNullable<McpToolOverride['validateArgs']>>(),
  effects: z.enum(['none', 'idempotent', 'once']).optional(),
  timeoutMs: time.optional(),
  polling: z.boolean().optional(),
  onError: z.unknown().optional(),
});

const settings = {
  policy: z.enum([...POLICIES, 'by-annotations']).optional(),
  tools: z.array(text).optional(),
  exclude: z.array(text).optional(),
  required: z.boolean().optional(),
  connectTimeoutMs: time.optional(),
  timeoutMs: time.optional(),
  maxTotalMs: time.optional(),
  roots: z.array(text).optional(),
  sampling: z
    .union([z.boolean(), z.literal('confirm'), sampler], "must be true, false, 'confirm' or a function")
    .optional(),
  overrides: z.record(overrideSchema).optional(),
  retryAfterLoss: z.enum(['unless-destructive', 'safe']).optional(),
  logLevel: z.enum(LOG_LEVELS).optional(),
  protocolVersion: z.literal(STATELESS_VERSION).optional(),
  disabled: z.boolean().optional(),
};

/** An entry with `command`. Strict: a misspelt `policy` must not be dropped without a word. */
export const stdioSchema = z.strictObject({
  type: z.literal('stdio').optional(),
  command: text,
  args: z.array(z.union([z.string(), z.number()]).transform(String)).optional(),
  env: variables.optional(),
  cwd: text.optional(),
  killTree: z.boolean().optional(),
  ...settings,
});

/** An entry with `url`. */
export const httpSchema = z.strictObject({
  type: z.enum(['http', 'streamable-http', 'sse']).optional(),
  url: text,
  headers: variables.optional(),
  auth: authSchema.optional(),
  ...settings,
});

/** A checked entry, its variables not yet expanded. */
export type CheckedEntry = ShapeOf<typeof stdioSchema> | ShapeOf<typeof httpSchema>;

/** Keys that other clients keep in the same file. They mean nothing here and grant nothing. */
export const FOREIGN_KEYS: ReadonlySet<string> = new Set(
  'name description icon version note notes autoApprove alwaysAllow autoStart trust timeout gallery transport'.split(
    ' ',
  ),
);
