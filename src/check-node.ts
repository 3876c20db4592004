import { nodeVersionProblem } from './node-version.ts';

// The first import of every entry of the package, so that a program on an old Node ends with this error and not with one from
// deep inside. Bun, Deno and pages have versions of their own.
const { versions } = typeof process === 'undefined' ? {} : process;
if (typeof versions?.node === 'string' && !('bun' in versions) && !('deno' in versions)) {
  const problem = nodeVersionProblem(versions.node);
  if (problem !== null) throw Object.assign(new Error(problem), { code: 'node-too-old', needed: '22.18.0' });
}
