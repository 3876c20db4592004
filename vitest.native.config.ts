import base from './vitest.config.ts';
export default { ...base, test: { ...(base as any).test, execArgv: ['--conditions=@signalbox/source'], experimental: { viteModuleRunner: false } } } as any;
