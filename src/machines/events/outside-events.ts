import { POLICIES } from '../../tools/spec.ts';
import type { JsonObject, JsonSchema } from '../../json/json.ts';

const PLAIN: JsonObject = { type: 'object', properties: {}, additionalProperties: false };

const REASON: JsonObject = { type: 'string', default: '' };

const TOOL: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 1 },
    description: { type: 'string' },
    inputSchema: { type: ['object', 'boolean'] },
    policy: { enum: [...POLICIES] },
    effects: { enum: ['none', 'idempotent', 'once'] },
    atomic: { type: 'boolean' },
    polling: { type: 'boolean' },
    enabled: { type: 'boolean' },
    timeoutMs: { type: 'number', minimum: 0 },
    origin: {
      type: 'object',
      properties: {
        kind: { enum: ['local', 'mcp', 'agent'] },
        server: { type: 'string' },
        tool: { type: 'string' },
        identity: { type: 'object' },
      },
      required: ['kind'],
    },
    alwaysAllowed: { type: 'boolean' },
    changes: { type: 'array' },
    checkedByCode: { type: 'boolean' },
    needsApproval: { const: true },
    recovery: { type: 'object' },
  },
  required: [
    'name',
    'description',
    'inputSchema',
    'policy',
    'effects',
    'atomic',
    'polling',
    'enabled',
    'timeoutMs',
    'origin',
    'alwaysAllowed',
    'checkedByCode',
    'recovery',
  ],
};

/** The tools of a run as data, as its recording and the event that changes them hold them. */
export const TOOLSET: JsonObject = {
  type: 'object',
  description: 'All tools that the run may use from now on, as the first line of its recording has them.',
  properties: {
    tools: { type: 'array', items: TOOL },
    servers: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          server: { type: 'string' },
          instructions: { type: 'string' },
          ready: { type: 'boolean' },
          needs: { enum: ['login'], description: 'Somebody has to sign in before it can be used.' },
        },
        required: ['server', 'instructions', 'ready'],
      },
    },
    skills: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          instructions: { type: 'string' },
          tools: { type: 'array', items: { type: 'string' } },
        },
        required: ['name', 'instructions', 'tools'],
      },
    },
    recovery: { type: 'object' },
  },
  required: ['tools', 'servers', 'skills', 'recovery'],
};

/**
 * The events that our machines receive from outside, by type, each as the JSON Schema of its payload without the type.
 * `false`: it is not sent from outside, since the agent steps that machine itself.
 */
export const OUTSIDE_EVENTS: { readonly [type: string]: JsonSchema } = {
  'run.cancelled': {
    type: 'object',
    description: 'Ends the run as cancelled.',
    properties: {
      reason: { ...REASON, description: 'The reason, for the result.' },
      partialAnswer: { type: 'string', description: 'What the model had streamed of its answer until then.' },
    },
    required: ['reason'],
    additionalProperties: false,
  },
  'run.abandoned': {
    type: 'object',
    description: 'Ends the run as failed, because it cannot be continued.',
    properties: {
      code: { type: 'string', minLength: 1, description: 'The error code of the result.' },
      message: { type: 'string', description: 'What happened, in the result.', default: '' },
    },
    required: ['code', 'message'],
    additionalProperties: false,
  },
  'run.expired': { ...PLAIN, description: 'Ends the run as if its total time were up.' },
  'tools.changed': {
    type: 'object',
    description: 'Gives the run other tools.',
    properties: {
      toolset: TOOLSET,
      children: {
        type: 'array',
        description: 'The agents below, where they have changed as well.',
        items: {
          type: 'object',
          properties: { tool: { type: 'string' }, setup: { type: 'object' } },
          required: ['tool', 'setup'],
        },
      },
      restart: {
        type: 'object',
        description: 'The run was resumed: no policy becomes weaker, and calls under way may have to be asked about.',
        properties: {
          begun: { type: 'array', items: { type: 'string' } },
          notRepeated: { type: 'array', items: { type: 'string' } },
        },
        required: ['begun', 'notRepeated'],
      },
      prompt: {
        type: 'object',
        description: 'Other instructions, or the prompt as it stays, for a run of other code.',
      },
    },
    required: ['toolset'],
    additionalProperties: false,
  },
  'message.steered': {
    type: 'object',
    description: 'Tells the model something before its next turn.',
    properties: {
      id: { type: 'string', minLength: 1, description: 'Makes it one message, however often it is sent.' },
      text: { type: 'string', minLength: 1, description: 'What the model is told.' },
      interrupt: { type: 'boolean', default: false, description: 'The request in flight is void.' },
    },
    required: ['id', 'text'],
    additionalProperties: false,
  },
  'message.queued': {
    type: 'object',
    description: 'Keeps a message for the run after this one.',
    properties: {
      id: { type: 'string', minLength: 1, description: 'Makes it one message, however often it is sent.' },
      text: { type: 'string', minLength: 1, description: 'The input of the next run.' },
      content: { type: 'array', items: { type: 'object' }, description: 'The same with its images and files.' },
      metadata: { type: 'object', description: 'The metadata of the next run.' },
    },
    required: ['id', 'text'],
    additionalProperties: false,
  },
  'message.withdrawn': {
    type: 'object',
    description: 'Takes back what was queued.',
    properties: { id: { type: 'string', minLength: 1, description: 'Which one.' } },
    required: ['id'],
    additionalProperties: false,
  },
  'approval.given': {
    type: 'object',
    description: 'Lets the call that waits run.',
    properties: {
      always: { type: 'boolean', default: false, description: 'The tool is not asked about again.' },
      args: {
        type: ['object', 'null'],
        default: null,
        description:
          'Other arguments to run with; they are checked again. A question is answered with {"answer": "…"}.',
      },
      reason: { type: 'string', description: 'The reason, for the tool.' },
    },
    required: ['always', 'args'],
    additionalProperties: false,
  },
  'approval.refused': {
    type: 'object',
    description: 'Denies the call that waits.',
    properties: { reason: { ...REASON, description: 'The reason, for the model.' } },
    required: ['reason'],
    additionalProperties: false,
  },
  'approval.expired': { ...PLAIN, description: 'Denies the call that waits as if its time were up.' },
  'call.proposed': false,
  'round.settled': false,
};
