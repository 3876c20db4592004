/** Says that a context is not known, and why: nothing is shown that was not so. */
export function NotKnown() {
  return (
    <p class="refusal" data-testid="not-known">
      Not known. This actor moved on from where it began at once, and beginning it again does not give the same.
    </p>
  );
}
