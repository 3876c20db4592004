import Module from 'node:module';

/** As where the package is installed alone: the command reads the folder with tools of its own. Gives back how to undo it. */
export function withoutFileServer(): () => void {
  const resolve: unknown = Reflect.get(Module, '_resolveFilename');
  if (typeof resolve !== 'function') throw new Error('Node resolves modules in another way.');
  const refusing = (name: string, ...rest: readonly unknown[]): unknown => {
    if (!name.startsWith('@modelcontextprotocol/server-filesystem'))
      return Reflect.apply(resolve, Module, [name, ...rest]);
    throw Object.assign(new Error(`${name} is not installed`), { code: 'MODULE_NOT_FOUND' });
  };
  Reflect.set(Module, '_resolveFilename', refusing);
  return () => void Reflect.set(Module, '_resolveFilename', resolve);
}

/** What Node is told to do the same before a program. */
export const WITHOUT_FILE_SERVER: readonly string[] = [
  '--import',
  `data:text/javascript,import{withoutFileServer}from${JSON.stringify(import.meta.url)};withoutFileServer()`,
];
