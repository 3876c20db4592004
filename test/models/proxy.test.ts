import { expect, test } from 'vitest';
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

test('a star means no proxy at all, and without variables there is none', () => {
  expect(proxyFor(new URL('http://api.test'), { ...env, NO_PROXY: '*' })).toBeUndefined();
  expect(proxyFor(new URL('http://api.test'), {})).toBeUndefined();
});
