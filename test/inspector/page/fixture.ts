import { readFileSync } from 'node:fs';
import { PageModel, type SessionModel } from '../../../src/inspector/page/model/page-model.ts';
import type { Frame, SessionInfo, StepInfo } from '../../../src/inspector/frames/protocol.ts';

/** The frames of a real run, as the server makes them. */
export function framesOfScene(scene: string): readonly Frame[] {
  return JSON.parse(readFileSync(new URL(`../fixtures/${scene}.json`, import.meta.url), 'utf8'));
}

/** A model that has taken in frames, and the one session that they are of. */
export function modelOf(frames: readonly Frame[]): { readonly model: PageModel; readonly session: SessionModel } {
  const model = new PageModel();
  for (const frame of frames) model.add(frame);
  const [session] = model.sessions.values();
  if (session === undefined) throw new Error('The frames are of no session.');
  return { model, session };
}

/** The session of a real run. */
export function sessionOf(scene: string): SessionModel {
  return modelOf(framesOfScene(scene)).session;
}

/** A session frame, for frames written by hand. */
export function sessionFrame(id = 'run'): Frame {
  const session: SessionInfo = {
    id,
    kind: 'run',
    title: 'A task',
    agent: 'assistant',
    at: '2026-01-01T00:00:00.000Z',
    status: 'running',
    reason: null,
    problem: null,
    parent: null,
    can: [],
  };
  return { t: 'session', session };
}

/** A step, for steps written by hand. */
export function step(n: number, to: string, more: Partial<StepInfo> = {}): StepInfo {
  return { n, at: n * 10, actor: 'agent', event: 'went', transitions: [], from: [], to: [to], entry: null, ...more };
}
