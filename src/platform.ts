/// <reference lib="esnext.disposable" preserve="true" />
import { nodeVersionProblem } from './node-version.ts';

// The first import of every entry of the package: what it needs of the platform. A program on an old Node ends with
// this error and not with one from deep inside. Bun, Deno and browsers have their own versions.
const { versions } = typeof process === 'undefined' ? {} : process;
if (typeof versions?.node === 'string' && !('bun' in versions) && !('deno' in versions)) {
  const problem = nodeVersionProblem(versions.node);
  if (problem !== null) throw Object.assign(new Error(problem), { code: 'node-too-old', needed: '22.18.0' });
}

// Names that our declarations use. They merge with those of the DOM's library and of @types/node, and stand alone without them.
declare global {
  interface AbortSignal {}
  interface Request {}
  interface RequestInit {}
  interface Response {}
  interface URL {}
  namespace NodeJS {
    interface ReadableStream {}
    interface WritableStream {}
  }
}
