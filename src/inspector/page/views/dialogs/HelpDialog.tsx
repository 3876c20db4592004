import { KEYS } from '../../state/keys.ts';
import { DialogFrame } from './DialogFrame.tsx';
import { Lamp } from '../Icon.tsx';

/** All keys, and what the signs mean. */
export function HelpDialog() {
  return (
    <DialogFrame title="Keys and signs">
      <div class="keys">
        {KEYS.map(({ keys, does }) => (
          <div key={does}>
            <span>{does}</span>
            <span>
              {keys.map((key) => (
                <kbd key={key}>{SHOWN[key] ?? key}</kbd>
              ))}
            </span>
          </div>
        ))}
      </div>
      <div class="chips">
        {(['go', 'wait', 'caution', 'danger', 'done'] as const).map((tone) => (
          <span key={tone} class="status">
            <Lamp tone={tone} /> {MEANINGS[tone]}
          </span>
        ))}
      </div>
      <p class="dim">On the timeline: ▲ a retry, ✕ an error, ◆ an approval, ■ a plan, ● the answer.</p>
    </DialogFrame>
  );
}

const SHOWN: { readonly [key: string]: string } = {
  ' ': 'Space',
  ArrowLeft: '←',
  ArrowRight: '→',
  PageUp: 'PgUp',
  PageDown: 'PgDn',
};
const MEANINGS = { go: 'at work', wait: 'waiting', caution: 'recovering', danger: 'failed', done: 'done' } as const;
