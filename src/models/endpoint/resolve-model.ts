import type { Model } from '../../actors/model.ts';
import { configuredModel } from '../chat/chat-model.ts';
import type { Environment } from './environment.ts';
import { parseModelName } from './model-name.ts';

/**
 * The model that an agent's option means: a `Model` as it is, `'ollama'` or `'ollama:qwen2.5:7b'` by preset, nothing
 * by the environment or, failing that, discovered when first used. The environment is read now. Throws a `TypeError`
 * that lists the presets for a name that is none.
 */
export function resolveModel(spec: string | Model | undefined, env: Environment): Model {
  if (spec === undefined) return configuredModel({}, env);
  if (typeof spec !== 'string') return spec;
  const { preset, model } = parseModelName(spec);
  return configuredModel(model === undefined ? { preset: preset.name } : { preset: preset.name, model }, env);
}
