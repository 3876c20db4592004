import type { ComponentChildren } from 'preact';
import type { TalkItem } from '../../model/talk/talk.ts';
import { durationText } from '../../model/time/time-scale.ts';
import type { Tone } from '../../model/tone.ts';
import { usePage } from '../../state/page-context.ts';
import { goTo } from '../../state/walk.ts';
import { Lamp } from '../Icon.tsx';

interface EntryFrameProps {
  readonly item: TalkItem;
  readonly now: boolean;
  readonly tone: Tone;
  readonly head: ComponentChildren;
  readonly children: ComponentChildren;
}

/** What all entries have: their sign, and the time, which leads to their step. */
export function EntryFrame({ item, now, tone, head, children }: EntryFrameProps) {
  const { state } = usePage();
  return (
    <article class={now ? 'entry now' : 'entry'} data-kind={item.kind}>
      <span class="sign">
        <Lamp tone={tone} />
      </span>
      <div>
        <div class="entry-head">
          {head}
          <button type="button" class="at" title="Go to this step" onClick={() => goTo(state, item.step)}>
            {durationText(item.at)}
          </button>
        </div>
        {children}
      </div>
    </article>
  );
}
