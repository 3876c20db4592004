/** The environment variable by which the reporter tells its workers where to leave what they noted. */
export const COVERAGE_FOLDER = 'SIGNALBOX_COVERAGE_FOLDER';
