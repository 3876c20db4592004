import { cohere } from './cohere.ts';
import { deepseek } from './deepseek.ts';
import type { Dialect } from './dialect.ts';
import { functionTags } from './function-tags.ts';
import { functionary } from './functionary.ts';
import { glmTags } from './glm-tags.ts';
import { granite } from './granite.ts';
import { harmony } from './harmony.ts';
import { hermes } from './hermes.ts';
import { internlm } from './internlm.ts';
import { invokeTags } from './invoke-tags.ts';
import { kimi } from './kimi.ts';
import { llama } from './llama.ts';
import { mistral } from './mistral.ts';
import { namedObject } from './named-object.ts';
import { phi } from './phi.ts';
import { pythonic } from './pythonic.ts';
import { react } from './react.ts';

/** The formats with markers of their own, tried in this order before any JSON is searched. */
export const MARKED_DIALECTS: readonly Dialect[] = [
  harmony,
  kimi,
  invokeTags,
  deepseek,
  functionTags,
  glmTags,
  hermes,
  granite,
  cohere,
  phi,
  mistral,
  llama,
  internlm,
  functionary,
  react,
];

/** The formats that look like prose: tried when the message holds no envelope. */
export const UNMARKED_DIALECTS: readonly Dialect[] = [namedObject, pythonic];
