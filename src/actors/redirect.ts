/** How often one request is redirected. */
export const MOST_REDIRECTS = 5;

/**
 * Where a redirect leads that may be followed with the body and the headers of its request, credentials among them: one that
 * keeps the method (307, 308) and stays within the origin, or goes from http to https there. Null for any other response.
 */
export function redirectWithin(from: URL, status: number, location: string | null | undefined): URL | null {
  if ((status !== 307 && status !== 308) || !location || !URL.canParse(location, from.href)) return null;
  const to = new URL(location, from);
  const isUpgrade = to.protocol === 'https:' && from.port === '' && to.port === '';
  const isWithin = to.origin === from.origin || (isUpgrade && to.hostname === from.hostname);
  return isWithin && to.username === '' && to.password === '' ? to : null;
}
