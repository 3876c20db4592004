import type { Message, Model, ModelRequest } from '../actors/model.ts';
import type { GuardedOutput } from './guard-output.ts';

/**
 * A model that is the given one, and shows each prompt on an output before it is sent: the first whole, later ones by
 * what is new in them.
 */
export function showingPrompts(model: Model, output: Pick<GuardedOutput, 'prompt'>): Model {
  let before: readonly Message[] = [];
  return {
    get id() {
      return model.id ?? '';
    },
    get toolCalling() {
      return model.toolCalling ?? 'native';
    },
    get keepsTime() {
      return model.keepsTime ?? false;
    },
    check: async (needs) => (await model.check?.(needs)) ?? [],
    complete(request, io) {
      output.prompt(promptText(request, before));
      before = request.messages;
      return model.complete(request, io);
    },
  };
}

function promptText({ messages }: ModelRequest, before: readonly Message[]): string {
  const known = messages.findIndex((message, index) => messageText(message) !== messageTextAt(before, index));
  const kept = known === -1 ? messages.length : known;
  const note = kept === 0 ? [] : [`(the ${kept} message${kept === 1 ? '' : 's'} sent before)`];
  return [...note, ...messages.slice(kept).map(messageText)].join('\n');
}

function messageTextAt(messages: readonly Message[], index: number): string | null {
  const message = messages[index];
  return message === undefined ? null : messageText(message);
}

function messageText({ role, content, name, toolCalls = [] }: Message): string {
  const text =
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : part.url)).join('\n');
  const calls = toolCalls.map((call) => `${call.name}(${call.arguments})`);
  const speaker = name === undefined ? role : `${role} ${name}`;
  return [`[${speaker}]`, ...[text, ...calls].filter((piece) => piece !== '')].join(' ');
}
