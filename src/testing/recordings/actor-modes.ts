/** What an actor does in a test: give the recorded answer, or its work. */
export type ActorMode = 'replay' | 'live';

/** What each actor does when there is a recording. Default `replay` for all. */
export interface ActorModes {
  /** Requests to the model (the leaf `callLlm`). */
  readonly model?: ActorMode;
  /** Tool calls, local and MCP alike (`callTool`). */
  readonly tools?: ActorMode;
  /** Checks of arguments by code: Standard Schemas and `validateArgs` (`checkArgs`). */
  readonly checks?: ActorMode;
  /** Questions to a person, and remembering the answer (`askApproval`, `rememberPermission`). */
  readonly approvals?: ActorMode;
  /** Functions and agents of `onError`, and `onEscalation` (`runFixer`, `askEscalation`). */
  readonly recovery?: ActorMode;
  /** Instructions and system prompts that are made by code (`composePrompt`). */
  readonly prompt?: ActorMode;
}

const LEAVES: { readonly [actor in keyof ActorModes]-?: readonly string[] } = {
  model: ['callLlm'],
  tools: ['callTool'],
  checks: ['checkArgs'],
  approvals: ['askApproval', 'rememberPermission'],
  recovery: ['runFixer', 'askEscalation'],
  prompt: ['composePrompt'],
};

/** The leaves that are live; all others are answered from the recording. Throws a `TypeError` for a word that is no mode. */
export function liveLeaves(modes: ActorModes): ReadonlySet<string> {
  const live = new Set<string>();
  for (const [actor, leaves] of Object.entries(LEAVES)) {
    const mode: unknown = Reflect.get(modes, actor) ?? 'replay';
    if (mode !== 'replay' && mode !== 'live')
      throw new TypeError(`useRecording: option '${actor}' is '${String(mode)}', and must be 'replay' or 'live'.`);
    if (mode === 'live') for (const leaf of leaves) live.add(leaf);
  }
  return live;
}
