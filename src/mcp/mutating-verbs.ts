/**
 * The words that make a tool's name sound as if it changed something. A verb counts when a piece of the name equals it
 * or, from four letters on, begins with it.
 */
export const MUTATING_VERBS: readonly string[] = [
  ...'add alter append apply approve archive assign bash build cancel checkout chmod chown clear click clone'.split(
    ' ',
  ),
  ...'close cmd commit compress copy create decrypt delete deploy destroy disable dismiss dispatch'.split(' '),
  ...'downgrade download drag drop edit enable encrypt erase eval exec execute export extract flush fork'.split(' '),
  ...'format goto grant import insert install interact invite invoke join keystroke kick kill launch leave'.split(' '),
  ...'lock mark merge migrate mkdir modify mount move navigate notify open overwrite paste patch pay pin'.split(' '),
  ...'post powershell press provision prune publish pull purge push put reboot rebase reject remove rename'.split(' '),
  ...'reopen replace reply reset restart restore revert revoke rmdir rollback rotate run save scale schedule'.split(
    ' ',
  ),
  ...'scroll send set share shell shortcut shutdown sign spawn start stop submit subscribe sudo symlink sync'.split(
    ' ',
  ),
  ...'terminate touch transfer trigger truncate type uninstall unlink unlock unmount unpin unset'.split(' '),
  ...'unsubscribe update upgrade upload upsert wipe write'.split(' '),
];
