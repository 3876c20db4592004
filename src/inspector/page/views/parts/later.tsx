import { type ComponentType, createElement } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { usePage } from '../../state/page-state.ts';

/** A view whose code is fetched when it is first shown: what few readers need is not part of the page's first load. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return (props) => {
    const { state } = usePage();
    const [, redraw] = useState(0);
    useEffect(() => {
      if (loaded !== null) return;
      load().then(
        (view) => {
          loaded = view;
          redraw(1);
        },
        () => {
          state.notice.value = {
            text: 'This part of the page could not be fetched from the inspector.',
            tone: 'danger',
          };
        },
      );
    }, []);
    return loaded === null ? null : createElement(loaded, props);
  };
}
