/** The frames of a stack from whoever called this function on: runners then point at the test's own line. */
export function framesAbove(callee: (...args: never) => unknown): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, callee);
  return (holder.stack ?? '').split('\n').slice(1).join('\n');
}
