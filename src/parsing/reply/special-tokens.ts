const LEADING =
  /\s*(?:<\|im_start\|>(?:assistant(?=\s*\n|\s*$|[{<])|(?!\s*(?:user|system|tool|function)))|<\|start_header_id\|>(?:assistant<\|end_header_id\|>|(?=[[{<]))|<\|assistant\|>|<\|START_RESPONSE\|>|<s>(?!\s*\p{Ll})|\[\/INST\]|<\|begin_of_text\|>|<start_of_turn>model|<bos>(?!\s*\p{Ll})|<\|begin\|>assistant|<\|content\|>|<\|message_model\|>(?=<\|content_)|<\|content_text\|>|<\|open\|>response<\|sep\|>)/uy;

/** What ends a turn. Other marks at the end may close a call that a text quotes. */
const TRAILING =
  /(?:<\|close\|>\w{1,20}(?:<\|sep\|>)?|<\|(?:im_end|flush|calls|eot_id|eom_id|end|endoftext|end_of_text|end_of_turn|return|eot|END_RESPONSE|END_OF_TURN_TOKEN|user|observation|end_message)\|>|\[\|endofturn\|\]|<\/s>|<end_of_turn>|<eos>|<｜end▁of▁sentence｜>)\s*$/;
const MOST = 8;

/** The index behind the special tokens of chat templates that stand at `from`. */
export function leadingTokens(text: string, from: number, end: number): number {
  let at = from;
  for (let i = 0; i < MOST; i += 1) {
    LEADING.lastIndex = at;
    const found = LEADING.exec(text);
    if (found === null || LEADING.lastIndex > end) return at;
    at = LEADING.lastIndex;
  }
  return at;
}

/** The text without the special tokens of chat templates at its end. */
export function stripTokens(text: string): string {
  let out = text;
  for (let i = 0; i < MOST; i += 1) out = dropEnd(out);
  return out;
}

/** Looks at the tail only: an expression tried at every position of a long text would not be linear. */
function dropEnd(text: string): string {
  const trimmed = text.trimEnd();
  const tail = Math.max(0, trimmed.length - 60);
  const found = TRAILING.exec(trimmed.slice(tail));
  if (found === null) return text;
  // Behind a space on its line a token is spoken of: models write theirs right behind the text. `</s>` may close an element.
  const before = trimmed.slice(0, tail + found.index);
  return /\S[ \t]+$/.test(before) || (found[0].startsWith('</s>') && opensElement(before)) ? text : before;
}

/** True where the last `<s>` of a text is open; one in backticks is spoken of. */
function opensElement(text: string): boolean {
  const opened = text.lastIndexOf('<s>');
  return opened > text.lastIndexOf('</s>') && text.charAt(opened + 3) !== '`';
}

/** Not those of Solar Open 2, without which a value has no end. */
const END_MARKS =
  /(?:\s|<\|(?!tool_(?:arg|call):)[^<>|{}"\n]{1,40}\|>|<\/s>|<｜[^<>{}"\n]{1,40}｜>|\[\/INST\]|<end_of_turn>|<eos>)+$/;
const TAIL = 400;

/** Special tokens at the very end are not part of the message; white space before them may be part of a cut string. */
export function messageEnd(text: string): number {
  const tail = Math.max(0, text.length - TAIL);
  const trailing = END_MARKS.exec(text.slice(tail));
  if (trailing === null) return text.length;
  const token = trailing[0].search(/\S/);
  return token < 0 ? text.length : tail + trailing.index + token;
}
