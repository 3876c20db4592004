import { expect, test } from 'vitest';
import { redirectWithin } from '../../src/actors/redirect.ts';
import { proxyFor } from '../../src/models/http/http-routes.ts';

const env = {
  HTTP_PROXY: 'http://plain:3128',
  https_proxy: 'secure:3129',
  NO_PROXY: 'intern.test, .corp.test,*.lab.test,box:8080',
};

test.each([
  ['http://api.test/v1', 'http://plain:3128/'],
  ['https://api.test/v1', 'http://secure:3129/'],
  ['http://box/v1', 'http://plain:3128/'],
  ['http://notintern.test/v1', 'http://plain:3128/'],
  ['http://intern.test/v1', undefined],
  ['http://gpu.intern.test/v1', undefined],
  ['http://gpu.corp.test/v1', undefined],
  ['https://gpu.lab.test/v1', undefined],
  ['http://box:8080/v1', undefined],
  ['http://localhost:8000/v1', undefined],
  ['http://127.0.0.1:8000/v1', undefined],
  ['http://[::1]:8000/v1', undefined],
])('%s goes through %s', (url, expected) => {
  expect(proxyFor(new URL(url), env)?.href).toBe(expected);
});

test.each([
  ['https://10.1.2.3/v1', true],
  ['https://11.1.2.3/v1', false],
  ['https://192.168.7.9:8443/v1', true],
  ['https://192.168.8.9/v1', false],
  ['https://[fd00:12::7]/v1', true],
  ['https://[fe00::7]/v1', false],
  ['https://[2001:db8::1]:8000/v1', true],
  ['https://[2001:db8::2]/v1', false],
  ['https://10.example.test/v1', false],
  ['https://[::ffff:a01:203]/v1', false],
])('%s is of an address in NO_PROXY, or in a range of it: %s', (url, isOf) => {
  const NO_PROXY = '10.0.0.0/8, 192.168.7.0/24,fd00::/8,2001:db8::1,0.0.0.0/99,10.0.0.0/x,/8';
  expect(proxyFor(new URL(url), { ...env, NO_PROXY }) === undefined).toBe(isOf);
});

test('a star means no proxy at all, and without variables there is none', () => {
  expect(proxyFor(new URL('http://api.test'), { ...env, NO_PROXY: '*' })).toBeUndefined();
  expect(proxyFor(new URL('http://api.test'), {})).toBeUndefined();
});

test.each([
  ['http://api.test/v1', 307, '/v2', 'http://api.test/v2'],
  ['http://api.test/v1', 308, 'http://api.test:80/v2?a=b', 'http://api.test/v2?a=b'],
  ['http://api.test/v1', 308, 'https://api.test/v1', 'https://api.test/v1'],
  ['http://api.test:80/v1', 307, 'https://api.test:443/v1', 'https://api.test/v1'],
  ['http://api.test/v1', 301, 'https://api.test/v1', undefined],
  ['http://api.test/v1', 307, undefined, undefined],
  ['http://api.test/v1', 307, 'http://', undefined],
  ['http://api.test/v1', 307, 'https://evil.test/v1', undefined],
  ['http://api.test/v1', 307, 'https://evil.api.test/v1', undefined],
  ['http://api.test/v1', 307, 'https://api.test:8443/v1', undefined],
  ['http://api.test:8080/v1', 307, 'https://api.test/v1', undefined],
  ['http://api.test/v1', 307, 'https://ann:pass@api.test/v1', undefined],
  ['https://api.test/v1', 307, 'http://api.test/v1', undefined],
  ['https://api.test/v1', 307, '//ann@api.test/v1', undefined],
  ['https://api.test/v1', 307, '//:pass@api.test/v1', undefined],
])('what is sent to %s follows its redirect %i to %s: %s', (from, status, location, to) => {
  expect(redirectWithin(new URL(from), status, location)?.href).toBe(to);
});
