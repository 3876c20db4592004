/** Cuts a long text in its middle, so that head and tail stay, and says how much is missing. */
export function cutMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const head = Math.ceil(maxChars * 0.7);
  const tail = maxChars - head;
  const left = text.length - head - tail;
  const end = tail === 0 ? '' : text.slice(-tail);
  return `${text.slice(0, head)}\n… [${left} characters cut out here] …\n${end}`;
}
