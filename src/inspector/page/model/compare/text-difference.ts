/** Two texts cut where they begin and end to differ. */
export interface TextDifference {
  readonly head: string;
  readonly left: string;
  readonly right: string;
  readonly tail: string;
}

/** Finds what is between the common beginning and the common end of two texts. Characters of two halves are never cut. */
export function textDifference(left: string, right: string): TextDifference {
  const shorter = Math.min(left.length, right.length);
  let head = 0;
  while (head < shorter && left[head] === right[head]) head++;
  if (isHigh(left, head - 1)) head--;
  let tail = 0;
  while (tail < shorter - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail++;
  if (isHigh(left, left.length - tail - 1) || isHigh(right, right.length - tail - 1)) tail--;
  tail = Math.max(0, tail);
  return {
    head: left.slice(0, head),
    left: left.slice(head, left.length - tail),
    right: right.slice(head, right.length - tail),
    tail: left.slice(left.length - tail),
  };
}

function isHigh(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xd800 && code < 0xdc00;
}
