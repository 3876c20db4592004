import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModel } from 'ai';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { createAgent, type RunResult } from '../../src/index.ts';
import { type AiSdkLanguageModel, type Model, type Usage, fromAiSdk } from '../../src/models/index.ts';

type Specified<Version extends string> = Extract<LanguageModel, { readonly specificationVersion: Version }>;

const apiKey = 'k';

describe('the types of fromAiSdk', () => {
  test('a provider’s own model is taken as it is', () => {
    const openai = createOpenAI({ apiKey });
    const models = [
      fromAiSdk(openai('gpt-5')),
      fromAiSdk(openai.chat('gpt-5')),
      fromAiSdk(createAnthropic({ apiKey })('claude-sonnet-4-5'), { images: true }),
      fromAiSdk(createGoogle({ apiKey })('gemini-3-pro-preview'), { settings: { seed: 1, reasoning: 'low' } }),
      fromAiSdk(createOpenAICompatible({ name: 'own', baseURL: 'http://127.0.0.1:9/v1' })('m')),
    ];
    expectTypeOf(models).toEqualTypeOf<Model[]>();
    expect(createAgent({ model: models[0] ?? 'ollama', silent: true })).toHaveProperty('run');
    expectTypeOf<Specified<'v3'>>().not.toBeNever();
    expectTypeOf<Specified<'v3'>>().toExtend<AiSdkLanguageModel>();
    expectTypeOf<Specified<'v4'>>().not.toBeNever();
    expectTypeOf<Specified<'v4'>>().toExtend<AiSdkLanguageModel>();
  });

  test('neither names nor older specifications are', () => {
    expectTypeOf<string>().not.toExtend<AiSdkLanguageModel>();
    expectTypeOf<Specified<'v2'>>().not.toBeNever();
    expectTypeOf<Specified<'v2'>>().not.toExtend<AiSdkLanguageModel>();
    expectTypeOf<LanguageModel>().not.toExtend<AiSdkLanguageModel>();
    // @ts-expect-error -- a setting that there is not
    expect(() => fromAiSdk(createOpenAI({ apiKey })('gpt-5'), { seed: 1 })).toThrow("no option 'seed'");
  });

  test('what a run cost has the shares of the models', () => {
    expectTypeOf<RunResult['usage']['byModel']>().toEqualTypeOf<{ readonly [model: string]: Usage } | undefined>();
    expectTypeOf<Usage['cachedInputTokens']>().toEqualTypeOf<number | undefined>();
  });

  test('nothing of the AI SDK is imported, not even its types', () => {
    const source = join(import.meta.dirname, '../../src');
    const importing = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
      (file) => /\.tsx?$/.test(file) && /from '(?:ai|@ai-sdk\/[^']*)'/.test(readFileSync(join(source, file), 'utf8')),
    );
    expect(importing).toEqual([]);
  });
});
