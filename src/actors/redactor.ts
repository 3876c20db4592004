import { type Building, type Json, setOwn } from '../json/json.ts';
import { NO_REDACTOR, type Redactor } from './journal.ts';

/** An event with marks for the secrets in what it says. What kind of event it is stays, even if a secret is a word of that. */
export function redactedEvent<T extends { readonly type: string }>(event: T, redactor: Pick<Redactor, 'redact'>): T {
  return { ...redactor.redact(event), type: event.type };
}

const MARK = /«secret:(\d+)»/g;
const ANY_MARK = /(«(?:secret:\d+|hidden)»)/;

/** What looks like a key, of any issuer. Each begins with letters that ordinary text rarely has; a token, with none that begin another. */
const LOOKS_LIKE_A_KEY =
  /\b(?:sk-[A-Za-z0-9_-]{20,}|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|(?:gsk_|xai-|nvapi-)[A-Za-z0-9_-]{40,}|gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{35}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}|eyJ(?:(?!\beyJ)[A-Za-z0-9_-]){10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]{20,8000}-----END [A-Z ]{0,30}PRIVATE KEY-----/g;

/** The same, only to be asked: `replace` on a megabyte costs more than a look. */
const ONE_KEY = new RegExp(LOOKS_LIKE_A_KEY.source);

/** What one is made of, and what one begins with, or with a part of it at the end of a text. */
const KEY_CHARACTER = /[\w.-]/;
const KEY_BEGINNING = /\b(?:[rs]k|g[hils]|x[ao]|AK|AI|hf|n[pv]|ey|[rsgxAhne]$)/;
const BLOCK = '-----BEGIN ';
const OPEN_BLOCK = /^-----BEGIN [A-Z ]{0,40}(?:-{1,4}|-----[A-Za-z0-9+/=\s\\]*(?:-{1,5}[A-Z ]*-{0,5})?)?$/;

/** More than this many characters are not kept waiting. */
const MOST_WAITING = 4_000;

/** The shortest text that can hold one. */
const SHORTEST_KEY = 15;

/** Too short to be distinguished from ordinary text. */
const SHORTEST = 6;
/** A text that a person typed as a secret is rarely ordinary, and nothing is lost where it is. */
const SHORTEST_HIDDEN = 4;

/**
 * What our own data is made of. A value such as `enabled` of a variable that is named like a secret is one of these: hiding it
 * would hide what a tool may do or a schema requires.
 */
const OWN_WORDS =
  'allow-once always-allow arguments boolean budget children confirm content data decision default enabled escalate execution ' +
  'format history integer issues message number object options origin output pattern policy properties reason recovery ' +
  'required result schema servers settings severity skills status string substitute success timeout toolset verdict';

/** JSON and URLs write it as it is; most keys are such. */
const ONE_SPELLING = /^[\w.~-]*$/;

/** Replaces a text that no one may see and no tool receives: what a person typed as a secret for a server. */
export const HIDDEN = '«hidden»';

/**
 * Owns: which texts are secret, and the marks that replace them.
 *
 * I1 The same secret has the same mark for as long as the redactor lives.
 * I2 A value without secrets is returned unchanged, by reference.
 * I3 An unknown mark is never resolved to anything.
 *
 * A redactor that knows these secrets, and learns what looks like a key. `known` is called each time: a model may get its
 * key late. `kept` are the marks of a resumed run. What is `hidden` is not even restored: nothing restores {@link HIDDEN}.
 * What is needed only once there is a secret is created then.
 */
export class OwnRedactor implements Redactor {
  readonly #known: () => readonly string[];
  readonly #hidden: () => readonly string[];
  #numbers: Map<string, number> | undefined;
  #secrets: Map<number, string> | undefined;
  #listeners: Set<(mark: string, secret: string) => void> | undefined;
  #last = 0;

  constructor(
    known: () => readonly string[] = () => [],
    kept: Readonly<Record<string, string>> = {},
    hidden: () => readonly string[] = () => [],
  ) {
    this.#known = known;
    this.#hidden = hidden;
    for (const [mark, secret] of Object.entries(kept)) for (const number of marksIn(mark)) this.#give(secret, number);
  }

  /** An own property: it is passed on without its redactor. */
  readonly redact = <T>(value: T): T => {
    const given = longestFirst(this.#spellings());
    const lost = longestFirst(this.#hidden().flatMap(spellings));
    return mapTexts(value, (text) => this.#redactText(text, given, lost));
  };

  restore<T>(value: T): T {
    const secrets = this.#secrets;
    if (secrets === undefined) return value;
    return mapTexts(value, (text) =>
      text.includes('«secret:')
        ? text.replace(MARK, (mark, number: string) => secrets.get(Number(number)) ?? mark)
        : text,
    );
  }

  lostMark(value: unknown): string | null {
    let lost: string | null = null;
    mapTexts(value, (text) => {
      if (text.includes('«secret:')) {
        for (const [mark, number] of text.matchAll(MARK))
          if (this.#secrets?.has(Number(number)) !== true) lost ??= mark;
      }
      return text;
    });
    return lost;
  }

  /** Where at the end of a text a secret may have begun whose rest is yet to come; its length where none has. */
  openAt(text: string): number {
    let at = text.length;
    while (at > 0 && KEY_CHARACTER.test(text.charAt(at - 1))) at -= 1;
    const key = text.slice(at).search(KEY_BEGINNING);
    const block = text.lastIndexOf(BLOCK);
    at = key === -1 ? text.length : at + key;
    if (block !== -1 && OPEN_BLOCK.test(text.slice(block))) at = Math.min(at, block);
    const secrets = [...this.#spellings(), ...this.#hidden().flatMap(spellings)];
    for (const secret of [...secrets, BLOCK])
      for (let from = Math.max(0, text.length - secret.length + 1); from < at; from += 1)
        if (secret.startsWith(text.slice(from))) at = from;
    // One that is there as a whole is not cut.
    for (const secret of secrets) {
      const from = text.lastIndexOf(secret, at);
      if (from !== -1 && from + secret.length > at) at = from;
    }
    return text.length - at > MOST_WAITING ? text.length : at;
  }

  get hasMarks(): boolean {
    return this.#secrets !== undefined;
  }

  /** The secret of each mark. */
  marks(): Readonly<Record<string, string>> {
    return Object.fromEntries([...(this.#secrets ?? [])].map(([number, secret]) => [markText(number), secret]));
  }

  /** Called for each secret that gets a mark from now on; returns a function that stops it. */
  onMark(listener: (mark: string, secret: string) => void): () => void {
    const listeners = (this.#listeners ??= new Set());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** New secrets get marks that do not occur in this value, whose own marks may be unknown here. */
  reserve(value: unknown): void {
    mapTexts(value, (text) => {
      this.#last = Math.max(this.#last, ...marksIn(text));
      return text;
    });
  }

  /** Each spelling is a secret of its own: a tool gets back the very text that was replaced. */
  #spellings(): readonly string[] {
    return this.#known()
      .filter(({ length }) => length >= SHORTEST)
      .flatMap(spellings);
  }

  #give(secret: string, number: number): void {
    (this.#numbers ??= new Map()).set(secret, number);
    (this.#secrets ??= new Map()).set(number, secret);
    this.#last = Math.max(this.#last, number);
  }

  #markOf(secret: string): string {
    let number = this.#numbers?.get(secret);
    if (number === undefined) {
      number = this.#last + 1;
      this.#give(secret, number);
      for (const listener of this.#listeners ?? []) listener(markText(number), secret);
    }
    return markText(number);
  }

  #redactText(text: string, given: readonly string[], lost: readonly string[]): string {
    let redacted = text;
    for (const secret of lost) redacted = outsideOfMarks(redacted, secret, () => HIDDEN);
    for (const secret of given) redacted = outsideOfMarks(redacted, secret, () => this.#markOf(secret));
    return mayHoldKey(redacted) ? redacted.replace(LOOKS_LIKE_A_KEY, (key) => this.#markOf(key)) : redacted;
  }
}

/** `secret` is a password that many have, and so is a part of each mark, which must stay whole. */
function outsideOfMarks(text: string, secret: string, mark: () => string): string {
  if (!text.includes(secret)) return text;
  const parts = text.split(ANY_MARK);
  return parts
    .map((part, at) => (at % 2 === 0 && part.includes(secret) ? part.replaceAll(secret, mark) : part))
    .join('');
}

function longestFirst(texts: readonly string[]): readonly string[] {
  return texts.length < 2 ? texts : texts.toSorted((a, b) => b.length - a.length);
}

/**
 * A text as it is, with its accents as parts of letters or beside them, and each as it is written in JSON, also where that is
 * ASCII alone, as Python's, and in URLs: in a part of one, in a whole one, in a query.
 */
function spellings(text: string): readonly string[] {
  if (text.length < SHORTEST_HIDDEN || OWN_WORDS.includes(text)) return [];
  if (ONE_SPELLING.test(text)) return [text];
  const written = (form: string): readonly string[] => {
    const [json, whole] = [JSON.stringify(form).slice(1, -1), form.toWellFormed()];
    const ascii = json.replace(/[^ -~]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const query = String(new URLSearchParams({ '': whole })).slice(1);
    return [form, json, ascii, encodeURIComponent(whole), encodeURI(whole), query];
  };
  return [...new Set([text, text.normalize('NFC'), text.normalize('NFD')].flatMap(written))];
}

function markText(number: number): string {
  return `«secret:${number}»`;
}

function marksIn(text: string): readonly number[] {
  return text.includes('«secret:') ? [...text.matchAll(MARK)].map(([, number]) => Number(number)) : [];
}

function mayHoldKey(text: string): boolean {
  return text.length >= SHORTEST_KEY && ONE_KEY.test(text);
}

/** A redactor for runs of which only marks are left: it changes nothing, and knows that no mark can be resolved. */
export const MARKS_ONLY: Redactor = {
  ...NO_REDACTOR,
  lostMark: (value) => NO_SECRETS.lostMark(value),
};

const NO_SECRETS = new OwnRedactor();

/** The value with every text in it mapped, keys included; the very same value where nothing changed. */
function mapTexts<T>(value: T, map: (text: string) => string): T {
  return mapped(value, map) as T;
}

function mapped(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value) ? mappedList(value, map) : mappedObject(value, map);
}

/** Nothing is copied before something has changed: most values hold no secret. */
function mappedList(list: readonly unknown[], map: (text: string) => string): unknown {
  let copy: unknown[] | null = null;
  for (let index = 0; index < list.length; index++) {
    const item = mapped(list[index], map);
    if (copy === null && item !== list[index]) copy = list.slice(0, index);
    copy?.push(item);
  }
  return copy ?? list;
}

function mappedObject(value: object, map: (text: string) => string): unknown {
  const keys = Object.keys(value);
  let copy: Building | null = null;
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] ?? '';
    const member: unknown = Reflect.get(value, key);
    const [name, next] = [map(key), mapped(member, map)];
    if (copy === null && (name !== key || next !== member)) copy = firstMembers(value, keys.slice(0, index));
    if (copy !== null) setOwn(copy, name, next as Json);
  }
  return copy ?? value;
}

function firstMembers(value: object, keys: readonly string[]): Building {
  const copy: Building = {};
  for (const key of keys) setOwn(copy, key, Reflect.get(value, key));
  return copy;
}
