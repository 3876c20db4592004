import { defined } from '../../json/json.ts';
import { z } from '../../json/shapes.ts';

/** How much one MCP server may make its host keep and its model read. Bytes are counted in UTF-8. */
export interface McpLimits {
  /**
   * Bytes of one message: a line on stdout, a JSON body, a line of an event stream and an event. Also bytes of a whole
   * list. What is larger is not kept. Default 10 485 760 (10 MiB): a result of more than `limits.resultBytes` is refused
   * anyway, and what JSON takes in memory is a multiple of its text.
   */
  readonly messageBytes: number;
  /** Pages of one list (tools, resources, prompts). Default 100. */
  readonly listPages: number;
  /** Tools that a server may list, those that `tools` and `exclude` leave out not counted. Default 1000. */
  readonly tools: number;
  /** Bytes of a tool's description; the rest is cut off, with a mark. Default 16 384. */
  readonly descriptionBytes: number;
  /** Bytes of a tool's schemas, name and annotations as JSON; a tool that has more is left out. Default 262 144. */
  readonly schemaBytes: number;
  /** Bytes of the `instructions` of a server; the rest is cut off, with a mark. Default 16 384. */
  readonly instructionsBytes: number;
  /**
   * Tools of all servers together that are sent to the model; each server gets its share. Default 120: more confuse
   * models, and OpenAI takes 128, your own tools and the one for plans among them.
   */
  readonly toolsSent: number;
  /** How often a server may ask a person, and how often the model, for each call that is under way. Default 8. */
  readonly questionsPerCall: number;
}

/** The defaults. */
export const DEFAULT_MCP_LIMITS: McpLimits = {
  messageBytes: 10 * 2 ** 20,
  listPages: 100,
  tools: 1000,
  descriptionBytes: 16_384,
  schemaBytes: 262_144,
  instructionsBytes: 16_384,
  toolsSent: 120,
  questionsPerCall: 8,
};

/** The limits as given; one that is undefined was not given. */
export const mcpLimits = (given: Partial<McpLimits> = {}): McpLimits => ({ ...DEFAULT_MCP_LIMITS, ...defined(given) });

/** Longest name of a server or a tool, in characters. */
export const NAME_CHARS = 200;

/** A text with at most so many bytes, never cut within a character; what was cut off is counted in a mark at its end. */
export function cutText(text: string, bytes: number): { readonly text: string; readonly cut: number } {
  const size = Buffer.byteLength(text);
  if (size <= bytes) return { text, cut: 0 };
  const kept = new Uint8Array(bytes);
  const cut = size - new TextEncoder().encodeInto(text, kept).written;
  // Copied: a slice would keep the whole text alive.
  return { text: `${Buffer.from(kept).toString('utf8', 0, size - cut)} […${cut} bytes cut off]`, cut };
}

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
