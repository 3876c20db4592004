import { useState } from 'preact/hooks';
import { acceptedEvents, describes, wildcards } from '../../model/accepted-events.ts';
import { type ActorState, actorsAt } from '../../model/actor-state.ts';
import { type EventForm, eventForm } from '../../model/forms/event-form.ts';
import { type FormReading, type FormState, beginForm, readForm } from '../../model/forms/form-state.ts';
import type { PageState } from '../../state/page-state.ts';

/** An event that is being written: who gets it, what it is, and what it carries. */
export interface EventDraft {
  /** Who could get it: the machines that live, as of now. */
  readonly live: readonly ActorState[];
  readonly to: string | null;
  readonly type: string;
  /** What the machine takes now: types, and wildcards. */
  readonly accepted: readonly string[];
  readonly patterns: readonly string[];
  readonly isAccepted: boolean;
  readonly form: EventForm;
  /** Changes with the form. */
  readonly formKey: string;
  readonly filled: FormState;
  readonly reading: FormReading;
  readonly address: (to: string) => void;
  readonly choose: (type: string) => void;
  readonly fill: (next: FormState) => void;
}

/** Keeps an event while it is written. What was filled in for one type is there again when it is chosen again. */
export function useEventDraft(state: PageState): EventDraft {
  void state.beat.value;
  const session = state.session.value;
  const [wanted, setWanted] = useState(state.focus.value);
  const [typed, setTyped] = useState<string | null>(null);
  const [forms, setForms] = useState<{ readonly [key: string]: FormState }>({});

  const live = (session === null ? [] : actorsAt(session, session.steps.length - 1)).filter(
    ({ alive, track }) => alive && track.info.drawing !== null,
  );
  const actor = live.find(({ path }) => path === wanted) ?? live[0];
  const drawing = state.model.drawings.get(actor?.track.info.drawing ?? '');
  const known = actor !== undefined && drawing !== undefined;
  const accepted = known ? acceptedEvents(drawing, actor.active) : [];
  const patterns = known ? wildcards(drawing, actor.active) : [];
  const [only, ...others] = accepted;
  const type = typed ?? (others.length === 0 ? (only ?? '') : '');

  const form = eventForm(drawing, type);
  // What is written freely goes with any type: it is there before the last letter of the type is.
  const formKey = form.fields === null ? '' : `${drawing?.hash ?? ''} ${type}`;
  const filled = forms[formKey] ?? beginForm(form);
  return {
    live,
    to: actor?.path ?? null,
    type,
    accepted,
    patterns,
    isAccepted: accepted.includes(type) || patterns.some((pattern) => describes(pattern, type)),
    form,
    formKey,
    filled,
    reading: readForm(form, filled),
    address: (to) => {
      setWanted(to);
      setTyped(null);
    },
    choose: setTyped,
    fill: (next) => setForms({ ...forms, [formKey]: next }),
  };
}
