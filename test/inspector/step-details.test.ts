import { describe, expect, test } from 'vitest';
import type { StepDetail } from '../../src/inspector/frames/protocol.ts';
import { framesOf } from './frames-of.ts';
import { readRecording } from '../../src/journal/format/recording.ts';
import { startScene } from './scenes.ts';
import { viewer } from './viewer.ts';
import { inspector } from './with-inspector.ts';

async function detailOf(scene: 'plain' | 'approval', find: (step: StepDetail['step']) => boolean): Promise<StepDetail> {
  const shown = await inspector();
  const run = startScene(scene, { inspect: shown });
  for await (const event of run) if (event.type === 'approval.requested') await run.approve(event.callId);
  const frames = framesOf(readRecording(run.recording()), { id: run.runId, version: '' });
  const step = frames.flatMap((frame) => (frame.t === 'step' ? [frame.step] : [])).find(find);
  return viewer(shown.url).step(run.runId, step?.n ?? 0);
}

describe('the details of a step', () => {
  test('say of each transition that could have been taken what its guard said, in order, and which was', async () => {
    const { candidates } = await detailOf('plain', ({ from }) => from.includes('PLANNING.DECIDING'));
    expect(
      candidates.map(({ guard, passed, taken }) => `${guard ?? 'otherwise'}: ${passed}${taken ? ', taken' : ''}`),
    ).toEqual([
      'modelRefused: false',
      'filtered: false',
      'gaveOutput: false',
      'isLastTurn: false',
      'proposedPlan and plansLeft: false',
      'proposedPlan and answerWasDemanded: false',
      'proposedPlan: false',
      'calledTools: false',
      'answerTruncated: false',
      'endsWithWrittenCall: false',
      'answered and steeredOn: false',
      'answered: true, taken',
      'tooManyUnusableReplies: false',
      'otherwise: true',
    ]);
  });

  test('hold the event and the context before and after it', async () => {
    const { event, before, after, step } = await detailOf('approval', ({ event: name }) => name === 'approval.given');
    expect(event).toMatchObject({ type: 'approval.given' });
    expect(step).toMatchObject({ actor: 'agent/c1', from: expect.arrayContaining(['AWAITING_APPROVAL.ASKING']) });
    expect(before).toMatchObject({ request: { tool: 'pay' } });
    expect(after).toMatchObject({ request: { tool: 'pay' } });
  });

  test('are not there for a step that never was', async () => {
    const shown = await inspector();
    const run = startScene('plain', { inspect: shown });
    await run;
    for (const n of ['0', '100000', 'x', '-1'])
      expect((await viewer(shown.url).get(`/api/sessions/${run.runId}/steps/${n}`)).status).toBe(404);
  });
});
