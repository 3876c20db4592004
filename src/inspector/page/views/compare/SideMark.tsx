/** The letter of one of two runs that are compared: A is the one in sight, B the other. */
export function SideMark({ side }: { readonly side: 'A' | 'B' }) {
  return (
    <b class="side" data-side={side}>
      {side}
    </b>
  );
}
