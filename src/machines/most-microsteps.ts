/** How many steps a machine may take on one event. Ours take a dozen: more is a mistake, and an error beats a hang. */
export const MOST_MICROSTEPS = 1000;
