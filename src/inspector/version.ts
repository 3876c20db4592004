/** The version of this package. Written down here and not read from package.json, which no bundle has beside it. */
export const packageVersion = (): string => '0.1.0';
