// Runs an agent again and again. Arguments: kind of store, place, prefix of the run ids, how many.
import { answered } from '../stored-runs.ts';
import { openStore } from '../open-store.ts';

const [kind = '', place = '', prefix = '', count = '1'] = process.argv.slice(2);
const store = openStore(kind, place);
const results = await Promise.all(
  Array.from({ length: Number(count) }, (_, index) => answered(store, `${prefix}-${index}`)),
);
console.log(results.filter(({ result }) => result.success).length);
