import { OAuthError } from '@modelcontextprotocol/client';
import { AuthFault } from './auth-fetch.ts';

const KINDS: Readonly<Record<string, AuthFault['kind']>> = {
  invalid_grant: 'invalid-grant',
  invalid_client: 'invalid-client',
  temporarily_unavailable: 'busy',
  too_many_requests: 'busy',
};

/** Does a step; what the SDK throws becomes an {@link AuthFault} without the texts in `secrets`. */
export async function attempt<T>(step: () => Promise<T>, secrets: readonly (string | undefined)[]): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (error instanceof AuthFault) throw error;
    if (!(error instanceof OAuthError) || error.code === 'server_error')
      throw new AuthFault('wrong', 'the authorization server answered something that is not OAuth');
    const told = secrets.reduce<string>(
      (text, secret) => (secret ? text.replaceAll(secret, '…') : text),
      error.message,
    );
    const words = told.replaceAll(/[^\x20-\x7E]/g, ' ').slice(0, 200);
    throw new AuthFault(
      KINDS[error.code] ?? 'wrong',
      `the authorization server refused${codeText(error.code)}: ${words}`,
    );
  }
}

/** An OAuth error code for a text; nothing for what is none. */
export function codeText(code: unknown): string {
  return typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? `, ${code}` : '';
}
