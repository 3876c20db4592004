/** Why a message ended, in the AI SDK's terms. */
type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'interrupted' | 'other';

/** One chunk of a UI message stream, version 1: those of them that a run makes. */
export type UiChunk =
  | { readonly type: 'start'; readonly messageId?: string; readonly messageMetadata?: object }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | {
      readonly type: 'tool-input-available';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: unknown;
      readonly dynamic?: boolean;
      readonly title?: string;
      readonly toolMetadata?: { readonly agent: string };
    }
  | {
      readonly type: 'tool-approval-request';
      readonly approvalId: string;
      readonly toolCallId: string;
      readonly approvalDescriptor?: object;
      readonly isAutomatic?: boolean;
      readonly reason?: string;
    }
  | {
      readonly type: 'tool-approval-response';
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  | { readonly type: 'tool-output-available'; readonly toolCallId: string; readonly output: unknown }
  | { readonly type: 'tool-output-error'; readonly toolCallId: string; readonly errorText: string }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | {
      readonly type: 'steering-message';
      readonly id: string;
      readonly parts: { readonly type: 'text'; readonly text: string }[];
    }
  | {
      readonly type: `data-${string}`;
      readonly id?: string;
      readonly data: unknown;
      readonly transient?: boolean;
    }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'finish'; readonly finishReason?: FinishReason; readonly messageMetadata?: object };

/** How each ending of a run is reported. */
export const FINISH_REASONS: { readonly [reason: string]: FinishReason | undefined } = {
  answer: 'stop',
  length: 'length',
  refused: 'content-filter',
  'content-filter': 'content-filter',
  cancelled: 'interrupted',
};
