import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';

const suite = conformanceSuite();
const client = join(import.meta.dirname, 'children/conformance-client.ts');

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

const why = suite === null ? ' (skipped: @modelcontextprotocol/conformance is not installed)' : '';

describe.skipIf(suite === null)(`the official conformance suite${why}`, () => {
  test.each([
    ['initialize', ['mcp-client-initialization']],
    ['tools_call', ['tool-add-numbers']],
    [
      'elicitation-sep1034-client-defaults',
      ['string', 'integer', 'number', 'enum', 'boolean'].map((type) => `client-elicitation-sep1034-${type}-default`),
    ],
    ['sse-retry', ['client-sse-graceful-reconnect', 'client-sse-retry-timing', 'client-sse-last-event-id']],
    ['request-metadata', ['sep-2575-client-populates-meta', 'sep-2575-http-client-sends-version-header']],
    ['http-standard-headers', ['sep-2243-client-includes-standard-headers']],
    ['http-custom-headers', ['sep-2243-client-mirrors-designated-params', 'sep-2243-client-base64-unsafe']],
    ['http-invalid-tool-headers', ['sep-2243-client-reject-invalid-tool']],
    ['sep-2322-client-request-state', ['sep-2322-client-request-state-echoed', 'sep-2322-client-no-state-omitted']],
  ])('finds no fault with the scenario %s', { timeout: 60_000, retry: 2 }, async (scenario, expected) => {
    const { checks } = await play(scenario);
    // A slow machine may be late for a stream, which the suite calls a warning.
    expect(checks.filter(({ status }) => status === 'FAILURE')).toEqual([]);
    expect(checks.map(({ id }) => id)).toEqual(expect.arrayContaining(expected));
  });
});

const USED = ['authorization-request', 'token-request', 'valid-bearer-token'];
const BY_PERSON = [...USED, 'pkce-s256-method-used', 'pkce-verifier-matches-challenge'];

describe.skipIf(suite === null)(`its scenarios of authorization${why}`, () => {
  test.each([
    ['metadata-default', BY_PERSON],
    ['metadata-var1', BY_PERSON],
    ['metadata-var2', BY_PERSON],
    ['metadata-var3', BY_PERSON],
    ['basic-cimd', [...BY_PERSON, 'cimd-client-id-used']],
    ['scope-from-www-authenticate', [...BY_PERSON, 'scope-from-www-authenticate']],
    ['scope-from-scopes-supported', [...BY_PERSON, 'scope-from-scopes-supported']],
    ['scope-omitted-when-undefined', [...BY_PERSON, 'scope-omitted-when-undefined']],
    ['scope-step-up', [...BY_PERSON, 'scope-step-up-initial', 'scope-step-up-escalation']],
    ['token-endpoint-auth-basic', [...BY_PERSON, 'token-endpoint-auth-method']],
    ['token-endpoint-auth-post', [...BY_PERSON, 'token-endpoint-auth-method']],
    ['token-endpoint-auth-none', [...BY_PERSON, 'token-endpoint-auth-method']],
    ['pre-registration', [...BY_PERSON, 'pre-registration-auth']],
    ['2025-03-26-oauth-metadata-backcompat', [...BY_PERSON, 'client-registration']],
    ['2025-03-26-oauth-endpoint-fallback', ['authorization-request', 'token-request', 'client-registration']],
    ['offline-access-scope', [...BY_PERSON, 'sep-2207-offline-access-requested']],
    ['offline-access-not-supported', BY_PERSON],
    ['iss-supported', BY_PERSON],
    ['iss-not-advertised', BY_PERSON],
    ['authorization-server-migration', BY_PERSON],
    ['client-credentials-jwt', ['client-credentials-jwt-verified', 'token-request', 'valid-bearer-token']],
    ['client-credentials-basic', ['token-request', 'valid-bearer-token']],
    [
      'enterprise-managed-authorization',
      ['complete-flow-token-exchange', 'complete-flow-jwt-bearer', 'valid-bearer-token'],
    ],
  ])('gets a token and uses it in auth/%s', { timeout: 60_000, retry: 2 }, async (scenario, expected) => {
    const { checks, told } = await play(`auth/${scenario}`);
    expect(checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')).toEqual([]);
    const passed = checks.filter(({ status }) => status === 'SUCCESS').map(({ id }) => id);
    expect(passed).toEqual(expect.arrayContaining(expected));
    // The tool behind the authorization has answered.
    expect(told).toContain("{ status: 'success', data: 'test' }");
  });

  test('refuses a server that describes itself as another one, and asks nobody to sign in', async () => {
    const { checks, told } = await play('auth/resource-mismatch');
    expect(checks).toContainEqual(expect.objectContaining({ id: 'resource-mismatch-rejected', status: 'SUCCESS' }));
    expect(checks.map(({ id }) => id)).toContain('prm-pathbased-requested');
    expect(checks.map(({ id }) => id)).not.toContain('client-registration');
    expect(told).toContain('auth-failed');
    expect(told).toContain('https://evil.example.com/mcp, which is another resource');
  });

  test.each([
    'iss-supported-missing',
    'iss-wrong-issuer',
    'iss-unexpected',
    'iss-normalized',
    'metadata-issuer-mismatch',
  ])('uses no code of an answer whose issuer is not the one: %s', async (scenario) => {
    const { checks, told } = await play(`auth/${scenario}`);
    expect(checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')).toEqual([]);
    expect(checks.map(({ id }) => id)).not.toContain('token-request');
    expect(told).toContain('not connected');
  });

  test('gives up asking for a scope that is never enough, after it was asked for once by name', async () => {
    const { checks, told } = await play('auth/scope-retry-limit');
    expect(checks).toContainEqual(expect.objectContaining({ id: 'scope-retry-limit', status: 'SUCCESS' }));
    expect(checks.filter(({ id }) => id === 'scope-retry-auth-attempt')).toHaveLength(2);
    expect(checks.map(({ id }) => id)).toContain('token-request');
    expect(told).toContain('it wants a token with more scopes (mcp:admin)');
  });
});

/** Lets the suite drive our client through a scenario, and reads what it checked: without a check it calls it passed, too. */
async function play(scenario: string): Promise<{ readonly checks: readonly Check[]; readonly told: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-conformance-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const options = ['client', '--command', `${process.execPath} ${client}`, '--scenario', scenario, '-o', folder];
  await promisify(execFile)(process.execPath, [suite ?? '', ...options]).catch(() => undefined);
  const files = await readdir(folder, { recursive: true });
  const text = async (name: string): Promise<string> =>
    readFile(join(folder, files.find((file) => file.endsWith(name)) ?? name), 'utf8');
  return { checks: JSON.parse(await text('checks.json')), told: await text('stdout.txt') };
}

function conformanceSuite(): string | null {
  const { resolve } = createRequire(import.meta.url);
  try {
    const description = resolve('@modelcontextprotocol/conformance/package.json');
    return join(dirname(description), 'dist/index.js');
  } catch {
    return null;
  }
}
