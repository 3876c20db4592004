/**
 * True for the path of the root and of the calls and turns that it makes itself; what agents below it do is judged where
 * they run, by what they were given.
 */
export function isOwn(path: string): boolean {
  return path.split('/').length <= 2;
}
