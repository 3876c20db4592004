import type { Model } from '../../actors/model.ts';
import { basicOf, type ChatModelOptions, type Endpoint } from './endpoint.ts';

const secrets = new WeakMap<Model, () => readonly string[]>();

const SECRET_HEADER = /auth|key|token|secret|cookie|password/i;

/** What people write where a server needs no key: hidden, the word would be missing from what they say of that server. */
const PLACEHOLDER =
  /^(?:ollama|lm[-_ ]?studio|lemonade|llama[-_. ]?cpp|vllm|(?:sk-)?no[-_ ]?key(?:[-_ ]?(?:required|needed))?|not[-_ ]?(?:needed|required|used)|none|empty|dummy|unused|placeholder|local|.{0,3})$/i;

/** The key, unless it only fills the field for a server that needs none. */
export function secretKey(apiKey: string | undefined): string | undefined {
  return apiKey === undefined || PLACEHOLDER.test(apiKey) ? undefined : apiKey;
}

/** Registers a model's secrets: its key, and the headers that carry one. */
export function rememberSecrets(
  model: Model,
  endpoint: () => Endpoint | undefined,
  { apiKey, headers }: ChatModelOptions,
): void {
  const inHeaders = Object.entries(headers ?? {}).flatMap(([name, value]) =>
    SECRET_HEADER.test(name) ? parts(value).filter((text) => text !== '') : [],
  );
  secrets.set(model, () => {
    const place = endpoint();
    const key = place?.apiKey ?? apiKey;
    const own = [key, ...ofUser(place?.user)].flatMap((text) => secretKey(text) ?? []);
    return [...new Set([...own, ...inHeaders])];
  });
}

function ofUser(user: Endpoint['user']): readonly string[] {
  const [basic = '', pair = ''] = parts((user && basicOf(user)) ?? '');
  if (user === undefined) return [];
  const said = new TextDecoder().decode(Uint8Array.from(atob(pair), (byte) => byte.charCodeAt(0)));
  return [basic, pair, user.password, said.slice(said.indexOf(':') + 1)];
}

/** The secrets that a model made by `chatModel` holds; empty for every other model. They live outside of the object. */
export function secretsOf(model: Model): readonly string[] {
  return secrets.get(model)?.() ?? [];
}

/** `Bearer abc` is a secret whole and in its second word. */
function parts(value: string): readonly string[] {
  const [, token] = /^\w+\s+(\S+)$/.exec(value) ?? [];
  return token === undefined ? [value] : [value, token];
}
