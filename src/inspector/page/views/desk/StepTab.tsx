import { Button, Icon, Lamp } from '../parts/Button.tsx';
import type { MachineDrawing, StepDetail } from '../../../frames/protocol.ts';
import { arrowText } from '../../model/chart.ts';
import { actorText, innermost } from '../../model/actor-state.ts';
import { exchangesOf } from '../../model/talk.ts';
import { type ForkOffer, forkOffer } from '../../state/orders.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import { jsonDiff } from '../../model/compare/json-diff.ts';
import { durationText } from '../../model/time-scale.ts';
import { usePage } from '../../state/page-state.ts';
import { Changes, Empty, NotKnown, Section, useDetail } from '../parts/StepDetails.tsx';
import { JsonTree } from '../parts/Values.tsx';

/** One step in full: which actor, on which event, which transitions were not taken and why, and what changed. */
export function StepTab() {
  const { state, desk } = usePage();
  void state.revision.value;
  const session = state.session.value;
  const step = session?.steps[state.position.value];
  const current = useDetail(session?.info.id, step);

  if (session === null || step === undefined) return <Empty why="No step yet." />;
  const before = session.steps[state.position.value - 1];
  const drawing = state.model.drawingOf(session.actors.get(step.actor)?.info);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- What scrolls must be reachable by keyboard.
    <div class="scroll pad" tabIndex={0} data-testid="step">
      <div class="section">
        <p class="move">
          <b>{escapedLine(step.event, 80)}</b>
          <span class="dim" title={escapedLine(step.actor, 400)}>
            {escapedLine(actorText(session, step.actor, state.position.value), 120)}
          </span>
          <span class="dim">
            at {durationText(step.at)}, {durationText(step.at - (before?.at ?? 0))} after the last
          </span>
        </p>
        <p class="move">
          <span>{escapedLine(innermost(step.from).join(' + ') || '·', 120)}</span>
          <span class="dim">→</span>
          <b>{escapedLine(innermost(step.to).join(' + '), 120)}</b>
        </p>
        {step.ignored !== undefined && (
          <p class="refusal" data-testid="ignored">
            {step.ignored === 'unknown'
              ? 'Nothing happened: no active state takes this event.'
              : 'Nothing happened: the guards of all transitions that this event could take said no.'}
          </p>
        )}
        <ForkPlace offer={forkOffer(session.info, step.entry, desk.acts)} />
      </div>
      {current === null ? (
        <p class="dim">{desk.acts ? 'Reading this step…' : 'Nothing more is known about this step.'}</p>
      ) : (
        <>
          <Candidates detail={current} drawing={drawing} />
          <Section title="What changed">
            {current.unknown.length > 0 ? (
              <NotKnown />
            ) : current.before === null ? (
              <p class="dim">It begins.</p>
            ) : (
              <Changes differences={jsonDiff(current.before, current.after)} />
            )}
          </Section>
          <Section title="Event">
            <JsonTree value={current.event} open={3} />
          </Section>
          <Section title="Context after">
            {current.unknown.includes('after') ? <NotKnown /> : <JsonTree value={current.after} open={1} />}
          </Section>
        </>
      )}
    </div>
  );
}

/** The button that forks, or why there is none and what to do instead. */
function ForkPlace({ offer }: { readonly offer: ForkOffer }) {
  if (offer.kind === 'none') return null;
  if (offer.kind === 'offered') return <ForkButton entry={offer.entry} />;
  return (
    <p class="refusal" data-testid="no-fork">
      <Icon name="fork" />
      <span>
        Cannot be forked from here. {offer.why} In code it is{' '}
        <code>{`fork(recording, agent, { at: ${offer.entry} })`}</code>.
      </span>
    </p>
  );
}

function ForkButton({ entry }: { readonly entry: number }) {
  const { state } = usePage();
  const ask = (): void => {
    const records = state.session.value?.records ?? [];
    const settled = exchangesOf(records).find((exchange) => exchange.settled === entry);
    const outcome = settled?.outcome?.ok === true ? JSON.stringify(settled.outcome.value, null, 2) : '';
    state.dialog.value = { kind: 'fork', entry, outcome };
  };
  return (
    <Button onClick={ask}>
      <Icon name="fork" /> Fork from here
    </Button>
  );
}

function Candidates({
  detail,
  drawing,
}: {
  readonly detail: StepDetail;
  readonly drawing: MachineDrawing | undefined;
}) {
  if (detail.candidates.length === 0) return null;
  return (
    <Section title="What it could have done">
      <ul data-testid="candidates">
        {detail.candidates.map(({ transition, guard, passed, taken }) => (
          <li key={transition} class={taken ? 'candidate taken' : 'candidate'}>
            <Lamp
              tone={taken ? 'done' : passed === true ? 'go' : passed === 'unknown' ? 'wait' : 'danger'}
              quiet={!taken && passed !== 'failed'}
              size={12}
            />
            <span>
              <b>{guard === null ? 'otherwise' : escapedLine(guard, 120)}</b>{' '}
              <span class="dim">{escapedLine(arrowText(drawing, transition), 160)}</span>
            </span>
            <span class={taken ? 'verdict done' : 'verdict dim'}>{verdict(taken, passed)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function verdict(taken: boolean, passed: boolean | 'failed' | 'unknown'): string {
  if (taken) return 'taken';
  if (passed === 'failed') return 'guard failed';
  if (passed === 'unknown') return 'not known';
  return passed ? 'allowed, but an earlier one was taken' : 'guard said no';
}
