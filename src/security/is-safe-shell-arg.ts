const UNSAFE = /[\s\p{Cc};|&<>$`"'!{}()[\]~*?#^%=]/u;

/**
 * True for a text that a shell takes as one plain word: not empty, no whitespace, no control character, no leading `-`, and
 * none of `` ; | & < > $ ` " ' ! { } ( ) [ ] ~ * ? # ^ % = ``. A backslash is allowed, for Windows paths. False for anything
 * that is no text; never throws. It says nothing about what the word means: check paths with `validatePath` as well.
 *
 * @example isSafeShellArg('report.txt')   // true
 * @example isSafeShellArg('a; rm -rf .')  // false
 */
export function isSafeShellArg(arg: unknown): boolean {
  return typeof arg === 'string' && arg !== '' && !arg.startsWith('-') && !UNSAFE.test(arg);
}
