import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REPORT, apiReport } from '../../scripts/api-report.ts';

test('the report of what the package exports is current: npm run api writes it', () => {
  expect(readFileSync(REPORT, 'utf8')).toBe(apiReport());
});
