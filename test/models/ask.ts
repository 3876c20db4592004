import type { Model, ModelError, ModelIo, ModelReply, ModelRequest, ModelTool } from '../../src/actors/model.ts';

/** A tool to offer. */
export const weather: ModelTool = {
  name: 'get_weather',
  description: 'Current weather',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

type Changes = Partial<ModelRequest> & { readonly io?: Partial<ModelIo> };

/** Asks a model a question; whatever the test does not care about is filled in. */
export function ask(model: Model, { io, ...changes }: Changes = {}): Promise<ModelReply> {
  const request: ModelRequest = {
    messages: [{ role: 'user', content: 'What is the weather in Austin?' }],
    toolCalling: 'native',
    stream: false,
    ...changes,
  };
  return model.complete(request, { signal: new AbortController().signal, ...io });
}

/** Asks a model a question that must fail, and gives the error. */
export async function askInVain(model: Model, changes: Changes = {}): Promise<ModelError> {
  const { ModelError: Expected } = await import('../../src/actors/model.ts');
  try {
    await ask(model, changes);
  } catch (error) {
    if (error instanceof Expected) return error;
    throw error;
  }
  throw new Error('the request succeeded');
}
