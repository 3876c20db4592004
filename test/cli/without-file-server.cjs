// Loaded before a command: as where the package is installed alone, it reads the folder with tools of its own.
const Module = require('node:module');

const resolve = Module._resolveFilename;
Module._resolveFilename = (name, ...rest) => {
  if (!name.startsWith('@modelcontextprotocol/server-filesystem'))
    return Reflect.apply(resolve, Module, [name, ...rest]);
  throw Object.assign(new Error(`${name} is not installed`), { code: 'MODULE_NOT_FOUND' });
};
