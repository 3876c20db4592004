import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

/** In Signalbox's own repository its sources are used. */
const CONDITIONS = process.execArgv.flatMap((flag) => (flag.startsWith('--conditions=') ? [flag.slice(13)] : []));

/** The script of the page. Your bundler makes it of `page.tsx` in the same way. */
export async function bundledPage(): Promise<string> {
  const { output } = await build({
    input: fileURLToPath(new URL('page.tsx', import.meta.url)),
    platform: 'browser',
    tsconfig: false,
    logLevel: 'silent',
    write: false,
    resolve: { conditionNames: [...CONDITIONS, 'browser', 'import', 'module', 'default'] },
    transform: {
      jsx: { runtime: 'automatic', importSource: 'react' },
      define: { 'process.env.NODE_ENV': '"development"' },
    },
    output: { codeSplitting: false },
  });
  return output[0].code;
}
