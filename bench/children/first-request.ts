// One short run of one contender, in a fresh process. Arguments: contender, address of the model server.
import { loadContender } from '../contenders/index.ts';

const [name, baseURL = ''] = process.argv.slice(2);
const contender = await loadContender(name);
const run = await contender({ baseURL, calls: 0, onCall: () => undefined });
await run();
process.exit(0);
