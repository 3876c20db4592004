import { type JsonSchema, isJsonObject } from '../../../../json/json.ts';
import { eventIssues } from '../../../frames/event-issues.ts';
import type { MachineDrawing } from '../../../frames/protocol.ts';
import { formFields } from './form-fields.ts';
import type { FormKind } from './form-state.ts';

/** A form for what an event carries beside its type, and what the machine says about it. */
export interface EventForm extends FormKind {
  readonly description: string;
}

/** The form of an event of a machine, as far as its shape is known. */
export function eventForm(drawing: MachineDrawing | undefined, type: string): EventForm {
  const { events = {} } = drawing ?? {};
  const schema: JsonSchema | undefined = Object.hasOwn(events, type) ? events[type] : undefined;
  if (!isJsonObject(schema)) return UNKNOWN;
  return {
    fields: formFields(schema)?.filter(({ name }) => name !== 'type') ?? null,
    issues: (value) => eventIssues({ ...value, type }, schema),
    description: typeof schema.description === 'string' ? schema.description : '',
  };
}

const UNKNOWN: EventForm = { fields: null, issues: () => [], description: '' };
