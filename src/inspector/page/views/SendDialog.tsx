import { useState } from 'preact/hooks';
import { type JsonObject, isJsonObject } from '../../../parsing/json.ts';
import { acceptedEvents } from '../model/accepted-events.ts';
import { inertLine } from '../model/inert-text.ts';
import { order } from '../state/order.ts';
import { usePage } from '../state/page-context.ts';
import { DialogFrame } from './DialogFrame.tsx';

/** Sends an event to a live actor: those that it accepts now are offered, anything else can be written. */
export function SendDialog() {
  const page = usePage();
  const { state } = page;
  const live = state.actors.value.filter(({ alive, track }) => alive && track.info.drawing !== null);
  const [to, setTo] = useState(live[0]?.path ?? '');
  const actor = live.find(({ path }) => path === to);
  const drawing = state.model.drawings.get(actor?.track.info.drawing ?? '');
  const events = actor === undefined || drawing === undefined ? [] : acceptedEvents(drawing, actor.active);
  const [type, setType] = useState('');
  const [rest, setRest] = useState('{}');
  const read = readRest(rest);
  const send = (): void => {
    if (read === null || type === '') return;
    state.dialog.value = null;
    void order(page, { kind: 'send', event: { ...read, type }, to });
  };
  return (
    <DialogFrame title="Send an event">
      <label>
        To
        <select class="field" value={to} onChange={(event) => setTo(event.currentTarget.value)}>
          {live.map(({ path }) => (
            <option key={path} value={path}>
              {inertLine(path, 80)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Event
        <input
          class="field mono"
          list="accepted"
          value={type}
          placeholder={events[0] ?? 'subject.happened'}
          onInput={(event) => setType(event.currentTarget.value)}
        />
        <datalist id="accepted">
          {events.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
      <div class="chips">
        {events.map((name) => (
          <button key={name} type="button" class="chip" onClick={() => setType(name)}>
            {inertLine(name, 60)}
          </button>
        ))}
      </div>
      <label>
        With (JSON)
        <textarea
          class="field"
          rows={5}
          spellcheck={false}
          value={rest}
          aria-invalid={read === null}
          onInput={(event) => setRest(event.currentTarget.value)}
        />
      </label>
      {read === null && <p class="problem">This is no JSON object.</p>}
      <button type="button" class="button yes" disabled={read === null || type === ''} onClick={send}>
        Send
      </button>
    </DialogFrame>
  );
}

function readRest(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
