import { isJsonObject } from '../../../json/json.ts';
import { MAX_STEERS } from '../../../machines/contract/mail.ts';
import type { Law, Situation } from './law.ts';

/** The delivery of messages that are sent to a run. A path distinguishes them by their texts. */
export const messages: Law = {
  name: 'messages',
  says: 'A message that a run took is delivered once or returned, one that was queued stays queued until the end, and no more than maxSteers are taken.',
  check: ({ story, output, settings }) => {
    if (output === null || settings === null) return null;
    const { steered, queued, withdrawn } = sent(story);
    if (steered.size > (settings.maxSteers ?? MAX_STEERS)) return `${steered.size} messages were taken`;
    const said = output.messages.filter(({ role }) => role === 'user').map(({ content }) => content);
    for (const [id, text] of [...steered, ...queued]) {
      const deliveries = said.filter((one) => one === text).length;
      const returns = (output.undelivered ?? []).filter((one) => one.id === id).length;
      const mostly = `message ${id} was delivered ${deliveries} times and returned ${returns} times`;
      if (withdrawn.has(id) ? returns > 0 : deliveries + returns !== 1) return mostly;
      if (queued.has(id) && deliveries > 0) return mostly;
    }
    return null;
  },
};

/** The messages that the run received, each once, by their ids. */
function sent(story: Situation['story']) {
  const steered = new Map<string, string>();
  const queued = new Map<string, string>();
  const withdrawn = new Set<string>();
  for (const one of story) {
    if (one.kind !== 'told' || one.to !== null || !isJsonObject(one.event)) continue;
    const { type, id, text } = one.event;
    if (typeof id !== 'string') continue;
    if (type === 'message.withdrawn') withdrawn.add(id);
    if (typeof text !== 'string' || steered.has(id) || queued.has(id)) continue;
    if (type === 'message.steered') steered.set(id, text);
    if (type === 'message.queued') queued.set(id, text);
  }
  return { steered, queued, withdrawn };
}
