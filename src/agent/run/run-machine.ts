import { agentMachine } from '../../machines/agent/agent.ts';

const MOST_EFFECTS = 20_000;

let machine: typeof agentMachine = agentMachine;
let effects = 0;

/**
 * The agent machine for a run that begins. XState remembers for each state and type of event what is to be done, for as long
 * as there is the machine, and the end of each call is a type of its own: in a process that lives long, a machine that has
 * met many is replaced by one that is the same.
 */
export function runMachine(): typeof agentMachine {
  if (effects > MOST_EFFECTS) {
    effects = 0;
    machine = agentMachine.provide({});
  }
  return machine;
}

/** To be called for each effect of a run. */
export function countEffect(): void {
  effects += 1;
}
