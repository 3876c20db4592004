import { authSecrets } from '../mcp/auth/options.ts';

const SECRET_NAME = /auth|key|token|secret|password|passwd|credential|cookie/i;

/**
 * What the configuration of MCP servers gives away of secrets: environment variables and headers whose names say that
 * they hold one. `Bearer abc` counts whole and in its second word.
 */
export function serverSecrets(servers: { readonly [name: string]: object }): readonly string[] {
  return Object.values(servers).flatMap((config) => [
    ...secretsIn(config, 'env'),
    ...secretsIn(config, 'headers'),
    ...authSecrets(Reflect.get(config, 'auth')),
  ]);
}

function secretsIn(config: object, member: 'env' | 'headers'): readonly string[] {
  const values: unknown = Reflect.get(config, member);
  if (typeof values !== 'object' || values === null) return [];
  return Object.entries(values).flatMap(([name, value]) => {
    if (typeof value !== 'string' || !SECRET_NAME.test(name)) return [];
    const [, token] = /^\w+\s+(\S+)$/.exec(value) ?? [];
    return token === undefined ? [value] : [value, token];
  });
}
