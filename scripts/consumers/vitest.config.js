import { defineConfig } from 'vitest/config';
export default defineConfig({ test: { reporters: ['default', 'signalbox/testing/coverage'] } });
