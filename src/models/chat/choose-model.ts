import { isJsonObject } from '../../json/json.ts';
import type { Endpoint } from '../endpoint/endpoint.ts';
import { askJson, type AskOptions, type ListedModel } from '../endpoint/list-models.ts';

/** The model to use where none was named: the one that is loaded, else the first listed that can chat. */
export async function chooseModel(
  endpoint: Endpoint,
  listed: readonly ListedModel[],
  options: AskOptions,
): Promise<string | undefined> {
  const chatting = listed.filter((model) => model.chats);
  const loaded = await askLoaded(endpoint, options);
  const known = chatting.find((model) => model.id === loaded || model.id === loaded?.replace(/:latest$/, ''));
  return (known ?? chatting.find((model) => model.loaded) ?? chatting[0])?.id;
}

/** What a server says is in memory, where it has a place to ask that is not the model list. */
async function askLoaded(endpoint: Endpoint, options: AskOptions): Promise<string | undefined> {
  const { origin } = new URL(endpoint.baseURL);
  switch (endpoint.preset?.name) {
    case 'lemonade': {
      const health = await ask(`${endpoint.baseURL}/health`, options);
      return textOf(health['model_loaded']);
    }
    case 'ollama': {
      const running = await ask(`${origin}/api/ps`, options);
      return firstOf(running['models'], (entry) => textOf(entry['name']));
    }
    case 'lmstudio': {
      const models = await ask(`${origin}/api/v0/models`, options);
      return firstOf(models['data'], (entry) =>
        entry['state'] === 'loaded' && entry['type'] !== 'embeddings' ? textOf(entry['id']) : undefined,
      );
    }
    default:
      return undefined;
  }
}

async function ask(url: string, options: AskOptions): Promise<{ readonly [key: string]: unknown }> {
  const asked = await askJson(url, options);
  return asked.kind === 'answered' && isJsonObject(asked.value) ? asked.value : {};
}

function firstOf(
  list: unknown,
  read: (entry: { readonly [key: string]: unknown }) => string | undefined,
): string | undefined {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  return entries.map((entry) => (isJsonObject(entry) ? read(entry) : undefined)).find((name) => name !== undefined);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
