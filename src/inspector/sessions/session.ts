import type { Act, ActReply, Frame, FramePage, SessionInfo, StepDetail } from '../frames/protocol.ts';

/** One run, recording or actor system that the page can show. */
export interface Session {
  readonly id: string;
  info(): SessionInfo;
  /**
   * Frames from after the one with this number on, as server-sent events, as they come, until the caller stops. The id of
   * each is its number; tokens and the like have none.
   */
  follow(from: number, signal: AbortSignal): AsyncGenerator<Uint8Array, void>;
  page(from: number, limit: number): Promise<FramePage>;
  /** Null: there is no such step. */
  detail(n: number): Promise<StepDetail | null>;
  /** The recording as JSON lines; null where nothing is recorded. */
  recording(): string | null;
  /** Everything that a saved page shows of it: its frames, and the details of their steps in order. */
  saved(): Promise<{ readonly frames: readonly Frame[]; readonly details: readonly StepDetail[] }>;
  act(act: Act): Promise<ActReply>;
  close(): void;
}
