import type { ToolName } from '../calls/registered-tools.ts';

interface NameNode {
  readonly next: Map<string, NameNode>;
  /** `name`: a registered tool's name ends here · `space`: a prefix such as `functions.` ends here. */
  ends: 'name' | 'space' | undefined;
}

const PREFIXES = ['functions.', 'tools.', 'default_api.', 'api.'];
const NAME_CHARACTER = /[\p{L}\p{N}_.\\-]/u;

/** True for a character of a tool's name as models write it, with the underscores that Markdown escapes. */
export function isNameCharacter(char: string): boolean {
  return NAME_CHARACTER.test(char);
}

/** Follows a word and decides, character by character, whether it may still become the name of a registered tool. */
export class NameReader {
  private readonly root: NameNode = node();
  private at: NameNode | undefined;

  constructor(tools: readonly ToolName[]) {
    for (const prefix of PREFIXES) this.add(prefix, 'space');
    for (const tool of tools) {
      const name: unknown = typeof tool === 'object' && tool !== null ? tool.name : tool;
      if (typeof name === 'string') this.add(name.toLowerCase(), 'name');
    }
  }

  begin(): void {
    this.at = this.root;
  }

  /** Takes the word's next character; false once it is not a tool's name whatever follows. */
  take(char: string): boolean {
    if (char === '\\' && this.at !== undefined && this.at !== this.root) return true;
    const wanted = char.toLowerCase();
    const before = this.at;
    this.at = before?.next.get(wanted);
    if (this.at === undefined && before?.ends === 'space') this.at = this.root.next.get(wanted);
    return this.at !== undefined;
  }

  /** True when what has been read is a registered name. */
  get isName(): boolean {
    return this.at?.ends === 'name';
  }

  /** True when the whole word is a registered name. */
  has(word: string): boolean {
    this.begin();
    const trimmed = word.trim();
    for (let i = 0; i < trimmed.length; i += 1) if (!this.take(trimmed.charAt(i))) return false;
    return this.isName;
  }

  private add(word: string, ends: 'name' | 'space'): void {
    let at = this.root;
    for (let i = 0; i < word.length; i += 1) {
      const char = word.charAt(i);
      const next = at.next.get(char) ?? node();
      at.next.set(char, next);
      at = next;
    }
    at.ends = ends === 'name' || at.ends === 'name' ? 'name' : ends;
  }
}

function node(): NameNode {
  return { next: new Map(), ends: undefined };
}
