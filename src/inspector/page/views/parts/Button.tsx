import type { ComponentProps } from 'preact';
import type { Tone } from '../../../frames/protocol.ts';

interface ButtonProps extends ComponentProps<'button'> {
  /** How it looks beside others: `quiet`, `yes`, `no`, `icon`, or several of them. */
  readonly look?: string;
}

/** A button that does something to the page or the run. */
export function Button({ look, ...rest }: ButtonProps) {
  return <button type="button" class={look === undefined ? 'button' : `button ${look}`} {...rest} />;
}

interface IconButtonProps extends ButtonProps {
  readonly icon: IconName;
  readonly label: string;
  /** What it says when a pointer is above it: the label, with the key that does the same. Default: the label. */
  readonly title?: string;
}

/** A button that shows a sign alone. */
export function IconButton({ icon, label, title = label, ...rest }: IconButtonProps) {
  return (
    <Button look="quiet icon" title={title} aria-label={label} {...rest}>
      <Icon name={icon} />
    </Button>
  );
}

const PATHS = {
  play: 'M5 3.5v9l7-4.5z',
  pause: 'M4.5 3.5h2.5v9H4.5zM9 3.5h2.5v9H9z',
  back: 'M10.5 3.5v9L4 8z',
  ahead: 'M5.5 3.5v9L12 8z',
  first: 'M4 3.5h1.6v9H4zM12 3.5v9L6 8z',
  last: 'M10.4 3.5H12v9h-1.6zM4 3.5v9L10 8z',
  fit: 'M2.5 6V2.5H6v1.4H3.9V6zM10 2.5h3.5V6h-1.4V3.9H10zM12.1 10h1.4v3.5H10v-1.4h2.1zM3.9 10v2.1H6v1.4H2.5V10z',
  plus: 'M7.2 3h1.6v4.2H13v1.6H8.8V13H7.2V8.8H3V7.2h4.2z',
  minus: 'M3 7.2h10v1.6H3z',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zm0 1.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zm3.8 5.7 3 3-1 1-3-3z',
  sun: 'M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM7.4 1.5h1.2v2H7.4zM7.4 12.5h1.2v2H7.4zM1.5 7.4h2v1.2h-2zM12.5 7.4h2v1.2h-2z',
  down: 'M7.2 2.5h1.6v5.8l2-2 1.1 1.1L8 11.3 4.1 7.4l1.1-1.1 2 2zM3 12h10v1.5H3z',
  page: 'M4 2h5l3 3v9H4zm1.4 1.4v9.2h5.2V6H8.2V3.4z',
  fork: 'M4 2.5h1.5v4.3c2.8.2 4.9.5 5 3.4h1.7l-2.4 3.3L7.400 10.200h1.600c-.1-1.600-1.200-1.900-3.500-2v5.300H4z',
  stop: 'M4 4h8v8H4z',
  send: 'M2.5 3 14 8 2.5 13l1.600-4.300L9 8 4.100 7.300z',
  copy: 'M5.500 2.500h7.500v8.500h-1.400V3.900H5.500zM3 5h7.500v8.500H3zm1.400 1.400v5.700h4.700V6.400z',
  link: 'M6.500 3.500h6v7h-1.400V4.900H6.500zM3.500 5.800h6v6.700h-6zM4.900 7.200v3.900h3.200V7.200z',
} as const;

/** The name of a sign. */
export type IconName = keyof typeof PATHS;

/** A sign of 16 by 16, drawn in the colour of its text. It says nothing to a screen reader: its button does. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} fill="currentColor" />
    </svg>
  );
}

/** What each tone looks like without its colour: a shape, so that it does not depend on seeing red and green. */
export const TONE_SHAPES: { readonly [tone in Tone]: string } = {
  go: 'M8 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8z',
  model: 'M8 3l5 5-5 5-5-5z',
  tool: 'M4 4h8v8H4z',
  wait: 'M4 3.500h8L8.900 8l3.100 4.500H4L7.100 8z',
  pause: 'M4.500 4h2.500v8H4.500zM9 4h2.500v8H9z',
  end: 'M3.500 3.500h9v9h-9zM5 5v6h6V5z',
  caution: 'M8 3l5.500 10h-11z',
  danger:
    'M4.800 3.400 8 6.600l3.200-3.200 1.400 1.400L9.400 8l3.200 3.200-1.400 1.400L8 9.400l-3.200 3.200-1.400-1.400L6.600 8 3.400 4.800z',
  done: 'M6.600 12.300 2.800 8.500l1.400-1.400 2.400 2.400 5.200-5.200 1.400 1.400z',
};

interface LampProps {
  readonly tone: Tone;
  readonly size?: number;
  /** The sign without its colour: nothing is wrong. */
  readonly quiet?: boolean;
}

/** A lamp: the sign of a tone in its colour. */
export function Lamp({ tone, size = 14, quiet = false }: LampProps) {
  return (
    <svg class={quiet ? 'dim' : tone} width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={TONE_SHAPES[tone]} fill="currentColor" fill-rule="evenodd" />
    </svg>
  );
}
