/** A package that is only needed for one thing, and is not installed. The message says how to install it. */
export class MissingPackageError extends Error {
  override readonly name = 'MissingPackageError';
  readonly code = 'package-missing';
  readonly package: string;

  constructor(missing: string, purpose: string, cause: unknown) {
    super(`${purpose} needs the package '${missing}', which is not installed: npm install ${missing}`, { cause });
    this.package = missing;
  }
}

/** True for what an import throws that finds nothing. */
export function isNotFound(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === 'ERR_MODULE_NOT_FOUND';
}
