import type { McpTool, McpToolAnnotations } from '../../actors/mcp/mcp-calls.ts';
import { isList } from '../../json/depth.ts';
import { type Json, isJsonObject } from '../../json/json.ts';
import type { Effects } from '../../tools/spec.ts';
import type { McpResolvedSettings, McpToolTraits } from '../config/config.ts';

/**
 * The words that make a tool's name sound as if it changed something. A verb counts when a piece of the name equals it
 * or, from four letters on, begins with it.
 */
const MUTATING_VERBS: readonly string[] = [
  ...'add alter annihilate append apply approve archive assign ban bash build buy cancel checkout'.split(' '),
  ...'chmod chown clear click clone close cmd commit compress copy cp create decrypt del delete'.split(' '),
  ...'deploy deregister destroy detach disable dismiss dispatch downgrade download drag drain drop'.split(' '),
  ...'edit enable encrypt erase eval evict exec execute expire export extract flush fork format'.split(' '),
  ...'goto grant hire import inject insert install interact invalidate invite invoke join'.split(' '),
  ...'keystroke kick kill launch leave lock mark merge migrate mkdir mkfs modify mount move mutate'.split(' '),
  ...'mv navigate notify nuke obliterate open overwrite paste patch pay pin post powershell press'.split(' '),
  ...'provision prune publish pull purchase purge push put reassign rebase reboot refund register'.split(' '),
  ...'reinstall reject remove rename reopen replace reply reschedule reset resize restart restore'.split(' '),
  ...'revert revoke rm rmdir rollback rotate run save scale schedule scrap scroll sell send set'.split(' '),
  ...'share shell shortcut shred shutdown sign spawn start stop submit subscribe sudo suspend'.split(' '),
  ...'symlink sync terminate toggle touch transfer trash trigger truncate type unarchive unban'.split(' '),
  ...'undeploy unfollow uninstall unlink unlock unmount unpin unpublish unregister unset unshare'.split(' '),
  ...'unsubscribe unsync unwatch update upgrade upload upsert wipe withdraw write zap'.split(' '),
];

/** Words that are nouns as often as verbs: they count where nothing in the name is read. */
const ACTING_NOUNS: readonly string[] = [
  ...'attach bill block book broadcast burn change charge comment decrement deposit downvote email'.split(' '),
  ...'emit fax finish fire flash follow hide increment invoice link mail message mute order pause'.split(' '),
  ...'perform raise react rebuild regenerate reindex rent reserve resolve resume retweet ship swap'.split(' '),
  ...'switch trade tweet upvote vote whisper'.split(' '),
];

/** What a tool does that only reads. */
const READING_VERBS: readonly string[] = [
  ...'analyze ask browse calculate check compare compute count describe detect diff enumerate'.split(' '),
  ...'estimate evaluate examine explain fetch filter find get has inspect is list look lookup'.split(' '),
  ...'measure peek ping preview query read retrieve scan search see show stat status summarize'.split(' '),
  ...'tail validate verify view watch'.split(' '),
];

const VERBS: ReadonlySet<string> = new Set(MUTATING_VERBS);
const PREFIXES: readonly string[] = MUTATING_VERBS.filter((verb) => verb.length >= 4);
const NOUNS: ReadonlySet<string> = new Set(ACTING_NOUNS);
const READING: ReadonlySet<string> = new Set(READING_VERBS);
const JOINTS: ReadonlySet<string> = new Set(['and', 'or', 'then']);
/** Parameters that choose what is done. */
const CHOOSES = /^(?:action|operation|op|method|mode|command|verb)$/i;
/** Parameters that a tool has only if it can change something, or can do anything. */
const TELLING = /^(?:command|cmd|shell|bash|force|dry_?run|overwrite)$/i;
/** A yes or no of this name asks for things that are so: `open` issues. */
const STATES = /^(?:open|format|type|scale|lock|share)$/i;

/**
 * Decides from a server's description of a tool whether a person must approve its calls. `allow` only where the server
 * says that the tool is read-only and nothing contradicts it: not `destructiveHint: true`, not its name (`rm`,
 * `charge_card`; `list_charges` is none), and not its parameters (`force`, a yes or no called `delete`, an `action` that
 * may be `"write"`). Everything else is `confirm`.
 *
 * @example policyFromAnnotations({ name: 'list_files', annotations: { readOnlyHint: true } }); // 'allow'
 */
export function policyFromAnnotations(
  tool: Pick<McpTool, 'name' | 'annotations'> & Partial<Pick<McpTool, 'inputSchema'>>,
): 'allow' | 'confirm' {
  if (tool.annotations?.readOnlyHint !== true || tool.annotations.destructiveHint === true) return 'confirm';
  return namesNoChange(tool.name) && !takesChanges(tool.inputSchema) ? 'allow' : 'confirm';
}

/** False also for a name with nothing to look at. */
function namesNoChange(name: string): boolean {
  const words = wordsOf(name);
  return words.length > 0 && !clausesOf(words).some(isMutating);
}

/** The words between `and`, `or` and `then`: what is read in one does not affect the next. */
function clausesOf(words: readonly string[]): readonly (readonly string[])[] {
  const clauses: string[][] = [[]];
  for (const word of words) {
    if (JOINTS.has(word)) clauses.push([]);
    else clauses.at(-1)?.push(word);
  }
  return clauses;
}

/**
 * A verb counts anywhere, also as the beginning of a longer word: `get_removed_items` is confirmed. What is a noun as often
 * counts only where nothing is read: `charge_card`, not `list_charges`.
 */
function isMutating(clause: readonly string[]): boolean {
  const reads = clause.some((word) => READING.has(word));
  return clause.some(
    (word) => VERBS.has(word) || (!reads && NOUNS.has(word)) || PREFIXES.some((verb) => word.startsWith(verb)),
  );
}

/** Whether the parameters of a tool suggest a change. */
function takesChanges(schema: Json | undefined): boolean {
  const properties = isJsonObject(schema) && isJsonObject(schema.properties) ? schema.properties : {};
  return Object.entries(properties).some(([name, member]) => {
    if (TELLING.test(name)) return true;
    if (!isJsonObject(member)) return false;
    if (member.type === 'boolean')
      return (
        VERBS.has(
          piecesOf(name)[0]
            ?.toLowerCase()
            .split(/[^a-z]/)[0] ?? '',
        ) && !STATES.test(name)
      );
    return CHOOSES.test(name) && choicesOf(member).some((choice) => !namesNoChange(choice));
  });
}

function choicesOf({ enum: values, const: only, oneOf, anyOf }: { readonly [key: string]: Json }): readonly string[] {
  const branches = [oneOf, anyOf].flatMap((list) => (isList(list) ? list : []));
  return [...(isList(values) ? values : []), only, ...branches.flatMap((one) => (isJsonObject(one) ? [one.const] : []))]
    .filter((value) => typeof value === 'string')
    .filter((value) => /[\p{L}\p{N}]/u.test(value));
}

/** Every whole segment of a name and its pieces, in lower case: `getStatus2` is also `get`, `status`, `2`. */
function wordsOf(name: string): readonly string[] {
  const segments = name.split(/[^\p{L}\p{N}]+/u).filter((segment) => segment !== '');
  return segments
    .flatMap((segment) => {
      const pieces = piecesOf(segment);
      return pieces.length === 1 ? pieces : [segment, ...pieces];
    })
    .map((word) => word.toLowerCase());
}

function piecesOf(segment: string): readonly string[] {
  return segment.split(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u);
}

/** What a server's hints say about repeating a call: read-only is `none`, idempotent `idempotent`, all else `once`. */
export function effectsFromAnnotations(annotations: McpToolAnnotations | undefined): Effects {
  if (annotations?.readOnlyHint === true) return 'none';
  return annotations?.idempotentHint === true ? 'idempotent' : 'once';
}

/** What a call's repetition would do: the configuration's word, else the server's hints. */
export function effectsOf({ annotations, override }: McpToolTraits): Effects {
  return override?.effects ?? effectsFromAnnotations(annotations);
}

/**
 * May a call be sent again after a reconnect, although its first request may have reached the server? Never where the
 * configuration says `once`, never for a tool annotated destructive and not idempotent, and with `safe` only where the
 * tool is known to be read-only or idempotent. With a task it goes by the effects alone: the answer to a lost request
 * would have had the task's id, and what was begun continues unseen.
 */
export function mayRepeat(
  tool: McpToolTraits,
  { retryAfterLoss, isTask }: Pick<McpResolvedSettings, 'retryAfterLoss'> & { readonly isTask: boolean },
): boolean {
  if (isTask) return effectsOf(tool) !== 'once';
  if (tool.override?.effects !== undefined) return tool.override.effects !== 'once';
  const { annotations } = tool;
  if (annotations?.destructiveHint === true && annotations.idempotentHint !== true) return false;
  return retryAfterLoss !== 'safe' || effectsFromAnnotations(annotations) !== 'once';
}
