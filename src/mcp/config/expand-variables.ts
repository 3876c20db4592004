/** A text with its variables replaced, or the name of the first one that is not set. */
export type Expanded = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly missing: string };

const VARIABLE = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces `${VAR}` (also `${env:VAR}`) and `${VAR:-default}` by values of the environment. The default stands in for a
 * variable that is unset or empty. What a variable holds is not expanded again; `$VAR` without braces stays as it is.
 */
export function expandVariables(text: string, env: Readonly<Record<string, string | undefined>>): Expanded {
  const missing: string[] = [];
  const expanded = text.replaceAll(VARIABLE, (_whole, variable: string, fallback: string | undefined) => {
    const value = env[variable];
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value === undefined) missing.push(variable);
    return value ?? '';
  });
  const [first] = missing;
  return first === undefined ? { ok: true, text: expanded } : { ok: false, missing: first };
}

/** All variables that a text names and that are not set; those with a default are not missed. */
export function missingVariables(text: string, env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return [...text.matchAll(VARIABLE)].flatMap(([, name = '', fallback]) =>
    fallback === undefined && env[name] === undefined ? [name] : [],
  );
}

/** All variables that a text names, set or not. */
export function namedVariables(text: string): readonly string[] {
  return [...text.matchAll(VARIABLE)].map(([, name = '']) => name);
}
