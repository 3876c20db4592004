import { expect, test } from 'vitest';
import { actorsAt, actorText, actorTitle } from '../../../src/inspector/page/model/actor-state.ts';
import { placeLifelines } from '../../../src/inspector/page/model/sequence.ts';
import { createAgent } from '../../../src/agent/create-agent.ts';
import { readRecording } from '../../../src/journal/format/recording.ts';
import { fakeTool } from '../../../src/testing/fake-tool.ts';
import { scriptedModel } from '../../../src/testing/scripted-model.ts';
import { plan } from '../../support/replies.ts';
import { framesOf } from '../frames-of.ts';
import { lanesOf, shortState, stepMarks } from '../../../src/inspector/page/model/timeline.ts';
import { placeAtTime, durationText, timeScale } from '../../../src/inspector/page/model/time-scale.ts';
import { PageModel } from '../../../src/inspector/page/model/page-model.ts';
import { framesOfScene, modelOf, sessionOf, step } from './fixture.ts';

const steps = [
  step(1, 'A', { at: 0 }),
  step(2, 'B', { at: 10 }),
  step(3, 'C', { at: 10 }),
  step(4, 'D', { at: 60_010 }),
];

test.each(['elastic', 'even', 'true'] as const)(
  'in the %s scale every step is found where it lies, in order',
  (stretch) => {
    const scale = timeScale(steps, stretch);
    const places = steps.map((_, position) => scale.at(position));

    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBe(0);
    expect(places.at(-1)).toBe(1);
    expect(steps.map((_, position) => steps[scale.step(scale.at(position))]?.at)).toEqual(steps.map(({ at }) => at));
  },
);

test('a long pause takes most of the clock scale but leaves room for the steps in the elastic one', () => {
  expect(timeScale(steps, 'true').at(2)).toBeLessThan(0.001);
  expect(timeScale(steps, 'elastic').at(2)).toBeGreaterThan(0.1);
});

test('a run without steps has a scale too', () => {
  expect(timeScale([], 'elastic').step(0.5)).toBe(-1);
});

test('playing at recorded speed shows at each time the last step that had been made', () => {
  expect([-1, 0, 9, 10, 500, 99_999].map((ms) => placeAtTime(steps, ms))).toEqual([-1, 0, 0, 2, 2, 3]);
});

test('durations read well from microseconds to months', () => {
  expect([0, 0.34, 12, 1400, 59_000, 185_000, 9_060_000, 6_696_000_000].map(durationText)).toEqual([
    '0 ms',
    '340 µs',
    '12 ms',
    '1.4 s',
    '59 s',
    '3 min 05 s',
    '2 h 31 min',
    '77 d 12 h',
  ]);
});

function lanesOfScene(scene: string) {
  const { model, session } = modelOf(framesOfScene(scene));
  return lanesOf(session, model.drawings);
}

test('calls side by side have a lane each; what never overlaps shares one', () => {
  const lanes = lanesOfScene('parallel');

  expect(lanes.map(({ label }) => label)).toEqual(['assistant', 'model', 'get_weather', 'get_weather']);
  expect(lanes.map(({ depth }) => depth)).toEqual([0, 1, 1, 1]);
});

test('each step of a plan is in the lane of its tool, and is named after it, though all have one path', () => {
  const session = sessionOf('plan-recovery');
  const nameAt = (event: string) => {
    const said = session.told.find(({ event: { type } }) => type === event);
    return said === undefined ? null : actorText(session, session.steps[said.step]?.actor ?? '', said.step);
  };

  const labels = lanesOfScene('plan-recovery').map(({ label }) => label);
  expect(labels).toEqual(['assistant', 'model', 'get_weather', 'book_table']);
  expect(placeLifelines(session).names).toEqual(expect.arrayContaining(labels));
  expect([nameAt('tool.started'), nameAt('recovery.step')]).toEqual([
    'assistant › get_weather',
    'assistant › book_table',
  ]);
  const started = session.told.find(({ event: { type } }) => type === 'tool.started')?.step ?? 0;
  const talk = { whole: session.talk, shown: session.talk };
  const titles = actorsAt(session, started).map((actor) => actorTitle(actor, talk));
  expect(titles).toContain('get_weather');
});

test('an agent that a step of a plan asks is below the call that asked it, whatever ran before at that path', async () => {
  const scout = createAgent({
    name: 'scout',
    description: 'Scouts.',
    model: scriptedModel(['Clear.', 'Still clear.']),
    silent: true,
  });
  const run = createAgent({
    name: 'chief',
    model: scriptedModel([plan(['look'], ['scout', { task: 'North' }], ['look']), 'All seen.']),
    tools: [fakeTool('look')],
    children: [scout],
    silent: true,
  }).run('Look around');
  await run;
  const { model, session } = modelOf(framesOf(readRecording(run.recording()), { id: 'run', version: '' }));
  expect(lanesOf(session, model.drawings).map(({ label, depth }) => `${depth} ${label}`)).toEqual([
    '0 chief',
    '1 model',
    '1 look',
    '1 scout',
    '2 scout',
    '3 model',
  ]);
});

test.each(['plan-recovery', 'parallel'])('lanes that are followed live are those of who comes later: %s', (scene) => {
  const frames = framesOfScene(scene);
  const model = new PageModel();
  let looks = 0;
  for (const [index, frame] of frames.entries()) {
    model.add(frame);
    const [session] = model.sessions.values();
    if (session === undefined || index % 3 > 0) continue;
    looks += 1;
    const later = modelOf(frames.slice(0, index + 1));
    // As often as a page is drawn, and again without anything new.
    for (let look = 0; look < 2; look += 1)
      expect(lanesOf(session, model.drawings)).toEqual(lanesOf(later.session, later.model.drawings));
  }
  expect(looks).toBeGreaterThan(20);
});

test('spans of a lane follow each other without overlapping', () => {
  for (const { spans, depth } of lanesOfScene('plan-recovery'))
    for (const [index, span] of spans.entries()) {
      // All calls are over, and the last state of each ends with it.
      if (depth > 0) expect(span.to).not.toBeNull();
      const next = spans[index + 1];
      expect(span.to === null || next === undefined || span.to <= next.from).toBe(true);
    }
});

test('retries, errors and the answer are marked on the timeline', () => {
  const kinds = stepMarks(sessionOf('plan-recovery').told).map(({ kind }) => kind);

  expect(new Set(kinds)).toEqual(new Set(['plan', 'retry', 'error', 'answer']));
});

test('a span names the states of all regions', () => {
  expect(shortState('PLANNING.ASKING')).toBe('ASKING');
  expect(shortState('lock.LOCKED + light.ON.DIM')).toBe('LOCKED + DIM');
});
