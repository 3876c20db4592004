/** Names that are devices in every folder, whatever extension follows. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$)$/i;
const FORBIDDEN = /[<>:"|?*\p{Cc}]/u;
const DRIVE = /^[a-z]:[\\/]/i;
const SHARE = /^[\\/]{2}[^\\/?.][^\\/]*[\\/]+[^\\/]/;

/**
 * False for what Windows reads as something else than a file in a folder: `C:name` and `\name` (they depend on a current
 * drive), `\\?\` and `\\.\` names, devices such as `NUL.txt`, other streams of a file (`a.txt:hidden`), and names that
 * end in a dot or a space, which Windows cuts off.
 */
export function isPlainWindowsPath(path: string): boolean {
  const rest = withoutRoot(path);
  return rest !== null && rest.split(/[\\/]/).every(isPlainName);
}

/** What follows the drive or the `\\`; `null` for roots that are not plain. */
function withoutRoot(path: string): string | null {
  if (DRIVE.test(path)) return path.slice(3);
  if (SHARE.test(path)) return path.slice(2);
  return /^[\\/]/.test(path) ? null : path;
}

function isPlainName(name: string): boolean {
  if (name === '' || name === '.' || name === '..') return true;
  const [stem = ''] = name.split('.');
  return !FORBIDDEN.test(name) && !/[. ]$/.test(name) && !DEVICE.test(stem.trimEnd());
}
