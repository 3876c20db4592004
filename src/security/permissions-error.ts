import type { PermissionProblem } from './permissions.ts';

/**
 * A decision could not be kept, or the kept ones could not be read. `code` says why; to whoever runs a tool it is a
 * warning, because what a person answered still holds for this one call.
 */
export class PermissionStoreError extends Error {
  override readonly name = 'PermissionStoreError';
  readonly code: PermissionProblem;
  /** The permission file. */
  readonly path: string;

  constructor(
    code: PermissionProblem,
    about: { readonly path: string; readonly message: string; readonly cause?: unknown },
  ) {
    super(about.message, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.path = about.path;
  }
}
