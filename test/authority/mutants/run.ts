/** Says of each parser of a list of folders whether it breaks a law, as JSON. */
import { breaksLaw } from './laws.ts';

const broken: boolean[] = [];
for (const folder of process.argv.slice(2)) {
  const { parseReply } = await import(`${folder}/parsing/reply/parse-reply.ts`);
  broken.push(breaksLaw(parseReply));
}
console.log(JSON.stringify(broken));
