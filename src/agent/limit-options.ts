import { z } from 'zod';
import type { QuestionLimits } from '../mcp/questions.ts';

/** The option `limits`: bounds of what crosses the agent's border. */
export interface LimitOptions {
  /** Longest arguments of one call, in bytes. Default 1 000 000. */
  readonly argumentBytes?: number;
  /** Longest result of one call, in bytes. Default 10 000 000. */
  readonly resultBytes?: number;
  /** What an MCP server may do; `questionsPerCall`: how often it may ask back during one call, default 8. */
  readonly mcp?: QuestionLimits;
}

const count = (least: number) => z.int().min(least);

/** Checks the option `limits`. */
export const limitOptions = z
  .strictObject({
    argumentBytes: count(1),
    resultBytes: count(1),
    mcp: z.strictObject({ questionsPerCall: count(0) }).partial(),
  })
  .partial();
