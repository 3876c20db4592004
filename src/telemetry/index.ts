import '../platform.ts';
export type {
  FollowedRun,
  FollowedWork,
  RunTelemetry,
  Telemetry,
  WorkOutcome,
  WorkTelemetry,
} from '../actors/telemetry.ts';
export { openTelemetry } from './open-telemetry.ts';
export type { OpenTelemetryOptions } from './open-telemetry.ts';
