/** A process in which nothing happens but one turn, long after its start: how long that turn had to wait, in milliseconds. */
import { fairTurns } from '../../../src/inspector/frames/event-loop.ts';

const takeTurn = fairTurns();
const stay = setTimeout(() => undefined, 5000);
setTimeout(() => {
  const began = performance.now();
  takeTurn(() => {
    console.log(Math.round(performance.now() - began));
    clearTimeout(stay);
    return false;
  });
}, 200);
