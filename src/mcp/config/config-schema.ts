import { z } from 'zod';
import type { McpSampler } from '../questions/answers.ts';
import { authSchema } from '../auth/options.ts';
import { LOG_LEVELS } from '../server-log.ts';
import type { McpLimits } from './server-limits.ts';

const time = z.number().positive('must be more than 0 (milliseconds)');
const policy = z.enum(['allow', 'confirm', 'deny']);
const text = z.string().min(1, 'must not be empty');
const variables = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String));

const sampler = z.custom<McpSampler>((value) => typeof value === 'function');

const override = z.strictObject({
  policy: policy.optional(),
  effects: z.enum(['none', 'idempotent', 'once']).optional(),
  timeoutMs: time.optional(),
  polling: z.boolean().optional(),
  onError: z.unknown().optional(),
});

const settings = {
  policy: z.enum(['allow', 'confirm', 'deny', 'by-annotations']).optional(),
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
  overrides: z.record(z.string(), override).optional(),
  retryAfterLoss: z.enum(['unless-destructive', 'safe']).optional(),
  logLevel: z.enum(LOG_LEVELS).optional(),
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

const count = (least: number) => z.int().min(least);

/** What `limits.mcp` may hold. */
export const mcpLimitsSchema = z
  .strictObject({
    messageBytes: count(1024),
    listPages: count(1),
    tools: count(1),
    descriptionBytes: count(0),
    schemaBytes: count(1024),
    instructionsBytes: count(0),
    toolsSent: count(0),
    questionsPerCall: count(0),
  } satisfies Record<keyof McpLimits, unknown>)
  .partial();

/** A checked entry, its variables not yet expanded. */
export type CheckedEntry = z.infer<typeof stdioSchema> | z.infer<typeof httpSchema>;

/** Keys that other clients keep in the same file. They mean nothing here and grant nothing. */
export const FOREIGN_KEYS: ReadonlySet<string> = new Set(
  'name description icon version note notes autoApprove alwaysAllow autoStart trust timeout gallery transport'.split(
    ' ',
  ),
);
