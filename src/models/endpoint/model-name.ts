import { findPreset, presetNames, type Preset } from './presets.ts';

/** What a short form such as `ollama:qwen2.5:7b` says. */
export interface NamedModel {
  readonly preset: Preset;
  readonly model: string | undefined;
}

/** Reads `preset` or `preset:model`; undefined when the text does not begin with a preset's name. */
export function readModelName(text: string): NamedModel | undefined {
  const colon = text.indexOf(':');
  const preset = findPreset(colon === -1 ? text : text.slice(0, colon));
  if (preset === undefined) return undefined;
  const model = colon === -1 ? '' : text.slice(colon + 1).trim();
  return { preset, model: model === '' ? undefined : model };
}

/** Like {@link readModelName}, for an option: throws a `TypeError` that lists the presets. */
export function parseModelName(text: string): NamedModel {
  const named = readModelName(text.trim());
  if (named !== undefined) return named;
  throw new TypeError(
    `model: '${text}' names no known server. Write one of ${presetNames()}, with a model after a colon if you like ` +
      `('ollama:qwen2.5:7b'), or use chatModel({ baseURL, model }).`,
  );
}
