/**
 * The words that make a tool's name sound as if it changed something. A verb counts when a piece of the name equals it
 * or, from four letters on and with no reading verb before it, begins with it.
 */
export const MUTATING_VERBS: readonly string[] = [
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
export const ACTING_NOUNS: readonly string[] = [
  ...'attach bill block book broadcast burn change charge comment decrement deposit downvote email'.split(' '),
  ...'emit fax finish fire flash follow hide increment invoice link mail message mute order pause'.split(' '),
  ...'perform raise react rebuild regenerate reindex rent reserve resolve resume retweet ship swap'.split(' '),
  ...'switch trade tweet upvote vote whisper'.split(' '),
];

/** What a tool does that only reads. */
export const READING_VERBS: readonly string[] = [
  ...'analyze ask browse calculate check compare compute count describe detect diff enumerate'.split(' '),
  ...'estimate evaluate examine explain fetch filter find get has inspect is list look lookup'.split(' '),
  ...'measure peek ping preview query read retrieve scan search see show stat status summarize'.split(' '),
  ...'tail validate verify view watch'.split(' '),
];
