import type { ComponentProps } from 'preact';
import { Icon, type IconName } from './Icon.tsx';

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
