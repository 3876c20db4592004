import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  acceptedEvents,
  wildcards,
  argumentsForm,
  eventForm,
} from '../../../src/inspector/page/model/forms/known-forms.ts';
import {
  draftOf,
  readDraft,
  retyped,
  type FormKind,
  beginForm,
  isRight,
  readForm,
  showAsFields,
  showAsJson,
} from '../../../src/inspector/page/model/forms/form-state.ts';
import { readJson } from '../../../src/inspector/page/state/fork-draft.ts';
import { type SchemaField, schemaFields } from '../../../src/inspector/page/model/forms/schema-fields.ts';
import { drawMachine } from '../../../src/inspector/frames/drawing.ts';
import { valueIssues } from '../../../src/inspector/frames/event-issues.ts';
import { agentMachine } from '../../../src/machines/agent/agent.ts';
import { toolCallMachine } from '../../../src/machines/tool-call/tool-call.ts';
import type { Json, JsonObject } from '../../../src/json/json.ts';
import { createMachine } from 'xstate';
import { framesOfScene, modelOf } from './fixture.ts';

/** A JSON Schema as zod writes it. */
function schemaOf(shape: z.ZodRawShape): JsonObject {
  const json: JsonObject = JSON.parse(JSON.stringify(z.toJSONSchema(z.object(shape), { io: 'input' })));
  return json;
}

const fieldsOf = (shape: z.ZodRawShape): readonly SchemaField[] => schemaFields(schemaOf(shape)) ?? [];

function fieldOf(shape: z.ZodType): SchemaField {
  const [field] = fieldsOf({ it: shape });
  if (field === undefined) throw new Error('There is no field.');
  return field;
}

/** A form as it is after these texts were typed into it. */
function filled(shape: z.ZodRawShape, texts: Readonly<Record<string, string>>) {
  const schema = schemaOf(shape);
  const fields = schemaFields(schema) ?? [];
  const kind: FormKind = { fields, issues: (value) => valueIssues(value, schema) };
  let state = beginForm(kind);
  for (const field of fields) {
    const text = texts[field.name];
    if (text !== undefined) state = { ...state, draft: retyped(state.draft, field, text) };
  }
  return { kind, state, reading: readForm(kind, state) };
}

describe('the control of a field', () => {
  test.each([
    ['a text', z.string(), 'text'],
    ['a long text', z.string().max(2000), 'long'],
    ['an address', z.email(), 'text'],
    ['a date', z.iso.date(), 'date'],
    ['a number', z.number(), 'number'],
    ['a whole number or null', z.int().nullable(), 'number'],
    ['yes or no', z.boolean(), 'check'],
    ['one of a few', z.enum(['a', 'b']), 'choice'],
    ['one of a few, or null', z.enum(['a', 'b']).nullable(), 'choice'],
    ['one of a union of values', z.union([z.literal('a'), z.literal(2), z.literal(null)]), 'choice'],
    ['one single value', z.literal('a'), 'choice'],
    ['an object', z.object({ x: z.int() }), 'json'],
    ['a list', z.array(z.string()), 'json'],
    ['a text or a number', z.union([z.string(), z.number()]), 'json'],
    ['one of a few, or any number', z.union([z.literal('all'), z.number()]), 'json'],
    ['anything', z.any(), 'json'],
  ])('%s', (_, schema, control) => {
    expect(fieldOf(schema).control).toBe(control);
  });

  test('says what may be put in, what it is for, and what it is called', () => {
    expect(fieldOf(z.int().min(1).max(99)).hint).toBe('whole number, 1 to 99');
    expect(fieldOf(z.number().positive().multipleOf(0.5)).hint).toBe('number, more than 0, in steps of 0.5');
    expect(fieldOf(z.string().min(3).max(20).nullable()).hint).toBe('3 to 20 characters, or null');
    expect(fieldOf(z.array(z.int())).hint).toBe('list of whole numbers, as JSON');
    expect(fieldOf(z.object({ street: z.string() })).example).toBe('{ "street": … }');
    expect(fieldOf(z.string().meta({ title: 'Full name', description: 'As on the card.' }))).toMatchObject({
      label: 'Full name',
      help: 'As on the card.',
    });
  });

  test('offers null beside the choices that allow it', () => {
    expect(fieldOf(z.enum(['a', 'b']).nullable()).choices.map(({ value }) => value)).toEqual(['a', 'b', null]);
    expect(fieldOf(z.union([z.literal('a'), z.null()])).choices.map(({ value }) => value)).toEqual(['a', null]);
  });

  test('follows references, and a default or the only choice stands in it at first', () => {
    const size = z.enum(['s', 'm']).meta({ id: 'Size', description: 'How large.' });
    const fields = fieldsOf({ size, other: size, count: z.int().default(3), kind: z.literal('k'), sure: z.boolean() });
    expect(fields.map(({ control, initial }) => [control, initial])).toEqual([
      ['choice', undefined],
      ['choice', undefined],
      ['number', 3],
      ['choice', 'k'],
      ['check', false],
    ]);
    expect(fields[0]?.help).toBe('How large.');
  });

  test('no form is made of what fields cannot say', () => {
    expect(schemaFields(true)).toBeNull();
    expect(schemaFields({ type: 'string' })).toBeNull();
    expect(schemaFields({ anyOf: [{ type: 'object', properties: { a: {} } }, { type: 'object' }] })).toBeNull();
    expect(schemaFields({ type: 'object', additionalProperties: { type: 'number' } })).toBeNull();
    expect(schemaFields({ $ref: '#/$defs/none' })).toBeNull();
    expect(schemaFields({ type: 'object' })).toEqual([]);
    const endless: JsonObject = { anyOf: [{ const: 1 }, { $ref: '#/properties/a' }] };
    expect(schemaFields({ properties: { a: endless, b: { $ref: '#/properties/b' } } })).toMatchObject([
      { control: 'json' },
      { control: 'json' },
    ]);
    expect(schemaFields({ $ref: '#/$defs/a', $defs: { a: { properties: { x: { type: 'string' } } } } })).toHaveLength(
      1,
    );
  });
});

describe('what a form comes to', () => {
  const order = {
    product: z.enum(['tea', 'coffee']),
    quantity: z.int().min(1),
    note: z.string().optional(),
    express: z.boolean().optional(),
    reason: z.string().nullable(),
    to: z.object({ city: z.string() }),
  };

  test('is read from what was typed; what is empty is left out, or null where that is meant', () => {
    const { reading } = filled(order, { product: '"tea"', quantity: '3', to: '{"city": "Bath"}', note: '' });
    expect(reading.value).toEqual({ product: 'tea', quantity: 3, reason: null, to: { city: 'Bath' } });
    expect(isRight(reading)).toBe(true);
  });

  test('is wrong field by field, nested members by their place', () => {
    const { reading } = filled(order, { quantity: '0', to: '{"city": 4}' });
    expect(Object.fromEntries(reading.byField)).toEqual({
      product: 'is required',
      quantity: 'must be at least 1, got 0',
      to: 'city: expected a string, got an integer (4)',
    });
    expect(isRight(reading)).toBe(false);
  });

  test('cannot be read where it is no number and no JSON', () => {
    const { reading } = filled(order, { product: '"tea"', quantity: '1e', to: '{"city"' });
    expect(Object.fromEntries(reading.byField)).toEqual({ quantity: 'this is not a number', to: 'this is not JSON' });
  });

  test('says of a format what it should be, and of the whole what no field can', () => {
    expect(filled({ mail: z.email() }, { mail: 'ada' }).reading.byField.get('mail')).toBe('expected an e-mail address');
    const schema: JsonObject = { type: 'object', properties: { a: { type: 'string' } }, minProperties: 1 };
    const kind: FormKind = { fields: schemaFields(schema), issues: (value) => valueIssues(value, schema) };
    expect(readForm(kind, beginForm(kind)).general).toEqual(['must have at least 1 properties, has 0']);
  });
});

describe('the switch to JSON and back', () => {
  const shape = {
    text: z.string(),
    count: z.int(),
    flag: z.boolean(),
    choice: z.enum(['a', 'b']),
    day: z.iso.date(),
    list: z.array(z.int()),
    maybe: z.string().nullish(),
    blank: z.string().default(''),
  };
  const kind: FormKind = { fields: fieldsOf(shape), issues: () => [] };
  const throughFields = (value: JsonObject): Json => {
    const asJson = { ...beginForm(kind), json: JSON.stringify(value), edited: true };
    return readForm(kind, showAsFields(kind, asJson)).value;
  };

  test.each<JsonObject>([
    {},
    { text: 'x', count: 2, flag: true, choice: 'b', day: '2026-01-31', list: [1], maybe: null, blank: 'y' },
    { text: '', flag: false, maybe: '', blank: '' },
    { text: 5, count: 'many', flag: 'yes', choice: 'c', day: 'soon', list: { a: 1 }, maybe: [null], blank: null },
    { text: 'two\nlines', count: 1.5, unknown: { deep: [1, 'x'] }, constructor: 1, toString: null },
  ])('loses nothing of %j', (value) => {
    expect(throughFields(value)).toEqual({ ...value, ...('blank' in value ? {} : { blank: '' }) });
  });

  test('brings back what was typed, unreadable as it is, unless the JSON was changed', () => {
    const { kind: typing, state } = filled({ count: z.int(), to: z.object({}) }, { count: '1e', to: '{"a' });
    const json = showAsJson(typing, state);
    expect(json.json).toBe('{\n  "count": "1e",\n  "to": "{\\"a"\n}');
    expect(showAsFields(typing, json).draft).toBe(state.draft);
    const changed = showAsFields(typing, { ...json, json: '{"count": 7, "extra": 1}', edited: true });
    expect(readForm(typing, changed).value).toEqual({ count: 7, extra: 1 });
  });

  test('stays with the JSON while that is none', () => {
    const broken = { ...beginForm(kind), json: '{"text": ', edited: true };
    expect(showAsFields(kind, broken)).toBe(broken);
    expect(readForm(kind, broken)).toMatchObject({ value: null, general: ['This is not a JSON object.'] });
  });

  test.each([
    ['9007199254740993', '9007199254740993 would become 9007199254740992'],
    ['-12345678901234567890', '-12345678901234567890 would become -12345678901234567000'],
    ['0.1000000000000000055', '0.1000000000000000055 would become 0.1'],
    ['1e999', '1e999 would become Infinity'],
    ['1e-999', '1e-999 would become 0'],
  ])('a number that would be sent as another one is refused: %s', (number, problem) => {
    const typed = filled({ amount: z.number() }, { amount: number });
    expect(typed.reading.byField.get('amount')).toBe(problem);
    expect(filled({ all: z.array(z.any()) }, { all: `["1", {"n": ${number}}]` }).reading.byField.get('all')).toBe(
      problem,
    );
    const asJson = { ...beginForm(typed.kind), json: `{"amount": ${number}}`, edited: true };
    expect(readForm(typed.kind, asJson)).toMatchObject({ value: null, general: [problem] });
    expect(showAsFields(typed.kind, asJson)).toBe(asJson);
    expect(readJson(`{"amount": ${number}}`)).toEqual({ ok: false, problem });
  });

  test.each([
    '5',
    '-0',
    '0.10',
    '.5',
    '007',
    '1E5',
    '12e-1',
    '1e23',
    '5e-324',
    '9007199254740994',
    '0e999',
    '0.0',
    '000',
  ])('a number that is the same however it is written is sent: %s', (number) => {
    const { reading } = filled({ amount: z.number() }, { amount: number });
    expect([...reading.byField]).toEqual([]);
    expect(reading.value).toEqual({ amount: Number(number) });
  });

  test('digits in texts are no numbers', () => {
    const written = { '12345678901234567890': 'no. "9007199254740993" \\', 'a"': '1e999' };
    const json = { ...beginForm(kind), json: JSON.stringify(written), edited: true };
    expect(readForm(kind, json)).toMatchObject({ value: written, general: [] });
  });

  test('what a field would change or hide is edited as JSON that shows it, and comes back as it was', () => {
    const texts = ['a\rb', 'a\r\nb', 'pay\u200bpal', 'bill\u202efdp', 'tag\u{e0041}', 'half\ud800'];
    const shown = texts.map((text) => draftOf(kind.fields ?? [], { text }).entries.get('text'));
    expect(shown.map((entry) => entry?.control)).toEqual(texts.map(() => 'json'));
    expect(shown.map((entry) => entry?.text)).toEqual([
      '"a\\rb"',
      '"a\\r\\nb"',
      '"pay\\u200bpal"',
      '"bill\\u202efdp"',
      '"tag\\udb40\\udc41"',
      '"half\\ud800"',
    ]);
    for (const text of texts) expect(throughFields({ text })).toEqual({ text, blank: '' });
    const free: FormKind = { fields: null, issues: () => [] };
    const begun = beginForm(free, { 'to\u200b': 'a\u202eb' });
    expect(begun.json).toBe('{\n  "to\\u200b": "a\\u202eb"\n}');
    expect(readForm(free, begun).value).toEqual({ 'to\u200b': 'a\u202eb' });
    // What emoji and scripts are made of is no secret.
    for (const text of ['👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'می\u200cخواهم', 'naïve\tcafé'])
      expect(draftOf(kind.fields ?? [], { text }).entries.get('text')?.control).toBe('text');
  });

  test('a day that there is not is no date, and is not lost', () => {
    const day = (text: string) => draftOf(kind.fields ?? [], { day: text }).entries.get('day');
    expect(day('2026-02-28')).toEqual({ control: 'date', text: '2026-02-28' });
    expect(day('2026-02-31')).toEqual({ control: 'json', text: '"2026-02-31"' });
    expect(filled({ day: z.iso.date() }, { day: '2026-13-01' }).reading.byField.get('day')).toBe('this is not a date');
  });

  test('choices that would read the same are told apart', () => {
    const { choices } = fieldOf(z.union([z.literal('1'), z.literal(1), z.literal('null'), z.literal('b')]).nullable());
    expect(choices.map(({ label }) => label)).toEqual(['"1"', '1', '"null"', 'b', 'null']);
  });

  test('a value that its control cannot show is edited as JSON', () => {
    const draft = draftOf(kind.fields ?? [], { count: 'many', text: 'x'.repeat(200) });
    expect(draft.entries.get('count')).toEqual({ control: 'json', text: '"many"' });
    expect(draft.entries.get('text')?.control).toBe('long');
    const reason = fieldOf(z.string().nullable());
    expect(draftOf([reason], { it: null }).entries.get('it')).toEqual({ control: 'text', text: null });
    expect(readDraft([reason], draftOf([reason], { it: null })).value).toEqual({ it: null });
    expect(readDraft(kind.fields ?? [], draft).value.count).toBe('many');
  });
});

describe('the form of an event', () => {
  test('of our own machines asks for what the event carries, with its defaults', () => {
    const form = eventForm(drawMachine(toolCallMachine), 'approval.given');
    expect(form.fields?.map(({ name, control }) => [name, control])).toEqual([
      ['always', 'check'],
      ['args', 'json'],
      ['reason', 'text'],
    ]);
    expect(readForm(form, beginForm(form))).toMatchObject({ value: { always: false, args: null }, general: [] });
    const cancel = eventForm(drawMachine(agentMachine), 'run.cancelled');
    expect(isRight(readForm(cancel, beginForm(cancel)))).toBe(true);
    expect(cancel.description).toBe('Ends the run as cancelled.');
  });

  test('leaves the type out that its schema names, and is none where nothing is known', () => {
    const go = { type: 'object', properties: { type: { const: 'go' }, far: { type: 'number' } }, required: ['type'] };
    const machine = createMachine({ on: { go: {}, stop: {} }, schemas: { events: { go } } });
    const form = eventForm(drawMachine(machine), 'go');
    expect(form.fields?.map(({ name }) => name)).toEqual(['far']);
    expect(isRight(readForm(form, beginForm(form)))).toBe(true);
    for (const type of ['stop', 'toString']) expect(eventForm(drawMachine(machine), type).fields).toBeNull();
    expect(eventForm(undefined, 'go').fields).toBeNull();
  });

  test('is offered for what wildcards take, and not for what nobody outside can send', () => {
    const events = { 'light.on': { type: 'object' }, 'door.open': { type: 'object' }, inner: false };
    const machine = createMachine({ on: { 'light.*': {}, inner: {}, known: {} }, schemas: { events } });
    const drawing = drawMachine(machine);
    expect(acceptedEvents(drawing, new Set())).toEqual(['light.on', 'known']);
    expect(wildcards(drawing, new Set())).toEqual(['light.*']);
  });
});

describe('the form of a call that waits', () => {
  const records = modelOf(framesOfScene('approval')).session.records;
  const head = records.find((record) => record?.t === 'run');
  const tool = head?.t === 'run' ? head.toolset.tools.find(({ policy }) => policy === 'confirm') : undefined;

  test('is made of what the recording says of its tool', () => {
    const form = argumentsForm(records, tool?.name ?? '', { to: 'Ann', euros: 5 });
    expect(form.fields?.map(({ name }) => name)).toEqual(['to', 'euros']);
    expect(form.issues({ to: 'Ann', euros: 'many' })).toHaveLength(1);
  });

  test('follows changes of the tools', () => {
    const changed = { ...tool, inputSchema: { type: 'object', properties: { cents: { type: 'integer' } } } };
    const toolset: Json = JSON.parse(JSON.stringify({ tools: [changed] }));
    const later = [...records, { t: 'event', at: 1, event: { type: 'tools.changed', toolset } } as const];
    expect(argumentsForm(later, tool?.name ?? '', {}).fields?.map(({ name }) => name)).toEqual(['cents']);
  });

  test('knows the tools of the agents below, and those of one name that differ only as JSON', () => {
    const asked = (inputSchema: JsonObject): Json => ({ tools: [{ name: 'ask', inputSchema }] });
    const who: JsonObject = { type: 'object', properties: { who: { type: 'string' } } };
    const toolset: Json = { tools: [] };
    const told = (...below: readonly Json[]) => {
      const children: Json = below.map((one, at) => ({
        tool: `child${at}`,
        setup: { toolset, children: [{ tool: 'deep', setup: { toolset: one } }] },
      }));
      return [{ t: 'event', at: 1, event: { type: 'tools.changed', toolset, children } } as const];
    };
    expect(argumentsForm(told(asked(who), asked({ ...who })), 'ask', {}).fields).toHaveLength(1);
    expect(argumentsForm(told(asked(who), asked({ type: 'object' })), 'ask', {}).fields).toBeNull();
  });

  test('is written as JSON for a question to a person, and for a tool that nobody knows', () => {
    expect(argumentsForm(records, tool?.name ?? '', { question: 'Which?' }).fields).toBeNull();
    expect(argumentsForm(records, 'nothing', { to: 'Ann' }).fields).toBeNull();
    expect(argumentsForm([], 'pay', {}).fields).toBeNull();
  });
});
