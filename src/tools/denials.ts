/** Why a call was not run although nothing is wrong with it. Told to the model as a denial, never as an error. */
export type Denial =
  | { readonly kind: 'policy' }
  | { readonly kind: 'disabled' }
  | { readonly kind: 'no-callback' }
  | { readonly kind: 'person'; readonly reason: string }
  | { readonly kind: 'deadline' }
  | { readonly kind: 'loop' }
  | { readonly kind: 'budget' };

/** The sentence that the model gets. */
export function describeDenial(tool: string, denial: Denial): string {
  switch (denial.kind) {
    case 'policy':
      return `Tool '${tool}' is denied by policy`;
    case 'disabled':
      return `Tool '${tool}' is disabled`;
    case 'no-callback':
      return `Tool '${tool}' requires confirmation but no callback is set`;
    case 'person':
      return `Tool '${tool}' execution denied by user${denial.reason === '' ? '' : `: ${denial.reason}`}`;
    case 'deadline':
      return `Tool '${tool}' execution denied by user: nobody answered in time`;
    case 'loop':
      return `Tool '${tool}' was not run: this call has been repeated too often`;
    case 'budget':
      return `Tool '${tool}' was not run: the run has used up its tool calls`;
  }
}
