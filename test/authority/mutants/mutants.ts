/** One change of the parser that gives text an authority which it must not have. */
export interface Mutant {
  readonly title: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const mutant = (title: string, file: string, from: string, to: string): Mutant => ({ title, file, from, to });
const scan = (title: string, from: string, to: string): Mutant => mutant(title, 'reply/scan.ts', from, to);
const around = (title: string, from: string, to: string): Mutant => mutant(title, 'reply/surroundings.ts', from, to);

/** Changes of the pass over a reply, of the readings of blocks, and of what decides about them. */
export const MUTANTS: readonly Mutant[] = [
  scan('what a value holds is looked at again', '    this.i = to;\n  }', '    this.i = from + 1;\n  }'),
  scan('a line that begins a turn ends nothing', 'turnBeginsAt(this.text, i)', 'i < 0'),
  scan('a token that ends a turn ends nothing', 'if (turnEndsAt(text, i) &&', 'if (i < 0 &&'),
  scan(
    'a thought is looked into',
    'const thought = thoughtAt(this.source, i);',
    'const thought = thoughtAt(this.source, this.end);',
  ),
  scan('a closing tag alone closes no thought', 'return !isMentioned(', 'return at < 0 && !isMentioned('),
  scan('an element is looked into', 'this.elements.endAt(i, this.from) ?? i + 1', 'i + 1'),
  scan('a comment is looked into', 'if (close < this.end) this.takeTo(close + closer.length);\n    else if', 'if'),
  scan(
    'code within a line is looked into',
    'if (closed) this.takeTo(to);\n    else this.i = to;',
    'this.i = closed ? this.i + 1 : to;',
  ),
  around('a block quote is none', "head.startsWith('>')", "head.startsWith('>>>>')"),
  around('a table is none', "head.startsWith('|')", "head.startsWith('||||')"),
  around('a line comment is none', "if (COMMENT.test(head)) return 'comment';", ''),
  around('a list is none', "LIST.test(head) ? 'list' : null", 'null'),
  around('indented code is none', 'indent >= 4', 'indent >= 400'),
  around('quotation marks are none', "return isClosed ? 'quoted' : null;", 'return null;'),
  around('a mark that closes a quotation opens one', 'this.quotations.pop();', 'this.quotations.push(mark);'),
  around(
    'only the straight mark quotes',
    'const closers = QUOTES.get(mark);',
    "const closers = mark === '\"' ? mark : undefined;",
  ),
  mutant(
    'a string may be open where a block ends',
    'dialects/dialect.ts',
    '!read.openString && !read.hanging',
    'bound > 0',
  ),
  mutant(
    'a closing mark in a string ends the block',
    'dialects/dialect.ts',
    'read.openString && bound < this.end',
    'read.openString && bound < 0',
  ),
  mutant(
    'a value between tags is always sure of its end',
    'dialects/tag-values.ts',
    'past: first + tags.close.length, sure: false',
    'past: first + tags.close.length, sure: true',
  ),
  mutant('an action needs no input', 'dialects/react.ts', 'args: {}, complete: false', 'args: {}, complete: true'),
  mutant(
    'text between tags is read as JSON',
    'dialects/tag-values.ts',
    "return type.includes('string')",
    "return type.includes('text')",
  ),
  mutant(
    'a plain type of text is none',
    'dialects/tag-values.ts',
    "return type === 'string'",
    "return type === 'text'",
  ),
  mutant(
    'a definition is a call',
    'calls/call-forms.ts',
    'isJsonObject(value) && isBareCall(value, listed) ?',
    'isJsonObject(value) ?',
  ),
  mutant('an envelope may have any field', 'reply/envelope.ts', 'if (!FIELDS.has(key)) return false;', ''),
  mutant(
    'fields are looked for in what is owned',
    'reply/broken-envelope.ts',
    'readFields(openText(source.text, scan)',
    'readFields(source.text',
  ),
  mutant(
    'what is said around a call does not count',
    'reply/placement.ts',
    'if (!before.every(isGlueText) &&',
    'if (first.from < 0 &&',
  ),
  mutant(
    'what is said behind a call does not count',
    'reply/placement.ts',
    'return isGlueText(fence === undefined ? after : withoutClosing(after)) || isMadeUpTurn(after);',
    'return true;',
  ),
  mutant(
    'every sentence has ended',
    'reply/placement.ts',
    'return hasEnded(before) && beginsAnew(after) && !proposed;',
    'return beginsAnew(after) && !proposed;',
  ),
  mutant(
    'a sentence may go on behind a call',
    'reply/placement.ts',
    'return hasEnded(before) && beginsAnew(after) && !proposed;',
    'return hasEnded(before) && !proposed;',
  ),
  mutant('a question before a call proposes nothing', 'reply/placement.ts', ' && !proposed', ''),
  mutant(
    'a question behind a call proposes nothing',
    'reply/placement.ts',
    'if (QUESTION.test(text.slice(Math.max(last.to, end - LOOK_BACK), end))) return false;',
    '',
  ),
  mutant('a definition of a tool is a call', 'calls/call-forms.ts', 'if (isDefinition(raw)) return [];', ''),
  mutant(
    'what stands in arguments is taken for a name',
    'reply/choose-pieces.ts',
    'repaired: !strict || !complete',
    'repaired: true',
  ),
  scan(
    'a thought that is closed twice is looked into',
    'if (close > 0 && this.closesAgain(',
    'if (close < 0 && this.closesAgain(',
  ),
  around(
    'a list ends at a blank line',
    '      this.quotations = [];\n      return;',
    '      this.quotations = [];\n      this.inList = false;\n      return;',
  ),
  around('a fence in a quotation is open', 'this.fenceTalk ?? (', 'null ?? ('),
  mutant('an abbreviation ends a sentence', 'reply/placement.ts', 'ABBREVIATION.test(before) || ', ''),
  mutant(
    'a heading ends a sentence',
    'reply/placement.ts',
    ' || HEADING.test(before)) return false;',
    ') return false;',
  ),
  mutant('any envelope answers where no text may act', 'reply/choose-pieces.ts', '!explains || ', ''),
  mutant(
    'no envelope answers where no text may act',
    'reply/choose-pieces.ts',
    "typeof thought === 'string' || typeof goal === 'string'",
    "typeof goal === 'number'",
  ),
  mutant(
    'no text is none',
    'reply/choose-pieces.ts',
    "    case 'never':\n      return NONE;",
    "    case 'never':\n      return chooseLenient(source, acting);",
  ),
];
