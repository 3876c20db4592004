import { readFileSync, readdirSync } from 'node:fs';

/**
 * True while a process of the group lives (POSIX). A process that has ended and waits to be collected does not count: in
 * a container whose first process collects nobody's orphans, such remains stay for ever.
 */
export function isGroupAlive(group: number, platform: NodeJS.Platform): boolean {
  if (!answersSignals(group)) return false;
  return platform !== 'linux' || hasLivingMember(group);
}

function answersSignals(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function hasLivingMember(group: number): boolean {
  try {
    return readdirSync('/proc').some((entry) => /^\d+$/.test(entry) && isLivingMember(entry, group));
  } catch {
    return true;
  }
}

function isLivingMember(pid: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold anything; behind it stand state, parent and group.
    const [state = '', , member] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(member) === group && !'ZX'.includes(state);
  } catch {
    return false;
  }
}
