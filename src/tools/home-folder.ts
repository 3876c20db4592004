import { homedir } from 'node:os';
import { isAbsolute } from 'node:path';

/** The user's home folder as it is now, or `null` where there is none: no such user, or an empty `HOME`. */
export function homeFolder(): string | null {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : null;
  } catch {
    return null;
  }
}
