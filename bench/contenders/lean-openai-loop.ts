import { createNodeFetch } from '../../src/models/http/node-fetch.ts';
import type { Contender } from '../harness/job.ts';
import { openaiLoop } from './openai-loop.ts';

/** The loop on `openai` over the same lean `fetch` that `chatModel` uses: what Signalbox adds is measured against it. */
export const leanOpenaiLoop: Contender = openaiLoop(createNodeFetch({ connectMs: 30_000, env: {} }));
