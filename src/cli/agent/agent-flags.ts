import { type Arguments, type OptionSpec, UsageError, wholeNumber } from '../command/command.ts';

/** What the command line says about the agent and about how its runs are shown. */
export interface AgentChoices {
  readonly model: string | undefined;
  readonly baseURL: string | undefined;
  readonly apiKey: string | undefined;
  /** A file with `mcpServers`. */
  readonly mcpFile: string | undefined;
  readonly maxSteps: number | undefined;
  /** The file that takes the recording. */
  readonly recordFile: string | undefined;
  readonly showPrompts: boolean;
  readonly showStats: boolean;
  readonly silent: boolean;
}

/** The options of every command that runs an agent. */
export const AGENT_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'model',
    short: 'm',
    value: '<name>',
    help: "A server, a model or both: 'ollama', 'qwen2.5:7b', 'ollama:qwen2.5:7b'; 'practice' is a built-in stand-in, not an LLM. Default: SIGNALBOX_MODEL, else a server that is found.",
  },
  {
    name: 'base-url',
    value: '<url>',
    help: "Where an OpenAI-compatible server listens, such as 'http://localhost:8080/v1'.",
  },
  { name: 'api-key-env', value: '<name>', help: 'The environment variable that holds the API key.' },
  {
    name: 'mcp',
    value: '<file>',
    help: "A JSON file with 'mcpServers'. Their tools replace the file tools on the current folder; tools that may change something ask first, unless the file names a policy.",
  },
  { name: 'max-steps', value: '<n>', help: 'Model turns and plan steps that a run may take. Default: 20.' },
  { name: 'record', value: '<file>', help: 'Where the recording goes. Default: .signalbox/runs/<run id>.jsonl.' },
  { name: 'show-prompts', help: 'Show each prompt that is sent to the model.' },
  { name: 'show-stats', help: 'Show tokens, speed and time.' },
  { name: 'silent', help: 'Show only the answer, or the reason if the run failed.' },
];

/** Reads those options. Throws a {@link UsageError} for an impossible value. */
export function readAgentChoices(args: Arguments): AgentChoices {
  const { values, flags } = args;
  return {
    model: values.get('model'),
    baseURL: values.get('base-url'),
    apiKey: readApiKey(values.get('api-key-env')),
    mcpFile: values.get('mcp'),
    maxSteps: wholeNumber(args, 'max-steps'),
    recordFile: values.get('record'),
    showPrompts: flags.has('show-prompts'),
    showStats: flags.has('show-stats'),
    silent: flags.has('silent'),
  };
}

function readApiKey(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const key = process.env[name]?.trim() ?? '';
  if (key === '') throw new UsageError(`--api-key-env: the environment variable ${name} is not set.`);
  return key;
}
