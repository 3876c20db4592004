import { createAgent } from '../../agent/create-agent.ts';
import type { AgentOptions } from '../../agent/options/agent-options.ts';
import type { Agent } from '../../agent/agent-types.ts';
import { terminalElicit } from '../../mcp/questions/terminal-elicit.ts';
import type { Inspector } from '../../inspector/create-inspector.ts';
import { type ConsoleOutput, consoleOutput } from '../../output/console/console-output.ts';
import { silentOutput } from '../../output/output-handler.ts';
import { terminalConfirm } from '../../terminal/terminal-confirm.ts';
import type { AgentChoices } from './agent-flags.ts';
import { type ChosenModel, selectModel } from './select-model.ts';
import { isConfig } from '../mcp/mcp-servers.ts';
import { type Interrupts, takeInterrupts } from '../command/interrupts.ts';
import { createRequire } from 'node:module';
import { dirname, join, parse } from 'node:path';
import { McpConfigError, type McpServersConfig } from '../../mcp/config/config.ts';
import { readMcpConfigEntries, readMcpConfigFile } from '../../mcp/config/config-file.ts';
import { UsageError } from '../command/command.ts';
import { accessSync, constants, openSync, statSync } from 'node:fs';
import { fileJournal, singleFileJournal } from '../../journal/stores/file.ts';
import { memoryJournal } from '../../journal/stores/memory.ts';
import type { JournalStore } from '../../journal/run/run-journal.ts';
import { makeFolder, systemCode } from '../../security/folders.ts';
import { folderTools } from './folder-tools.ts';

/** How a command shows its runs. */
interface Showing {
  /** The answer appears on the console, since it and the program's output are one screen. */
  readonly answerOnConsole: boolean;
  /** The runs are shown on a local page too. */
  readonly inspect?: { readonly open: boolean } | null;
  /** Where its runs are kept, if not where the options say. */
  readonly journal?: ChosenJournal;
}

/** An agent for a command, and what was chosen for it. */
export interface CliAgent {
  readonly agent: Agent;
  /** Null when nothing is to be shown. */
  readonly console: ConsoleOutput | null;
  /** Whether the console has shown how a run ended: of one that is played to its end, it shows nothing. */
  endShown(): boolean;
  readonly model: ChosenModel;
  /** It can read files and not write any: the file server is not installed, and no configuration names servers. */
  readonly readsOnly: boolean;
  readonly journal: ChosenJournal;
  readonly inspector: Inspector | null;
  /** Taken over for as long as there is something to end. */
  readonly interrupts: Interrupts;
  /** Ends everything that was started: servers, and the practice model. */
  close(): Promise<void>;
}

/** Makes the agent that the command line describes, working on the current folder. Throws a `UsageError`. */
export async function makeAgent(choices: AgentChoices, showing: Showing): Promise<CliAgent> {
  const folder = currentFolder();
  const { answerOnConsole, inspect = null, journal = chooseJournal(choices.recordFile) } = showing;
  const mcpServers = await chooseServers(choices.mcpFile, folder);
  const model = await selectModel(choices, process.env);
  let endShown = false;
  const shown = choices.silent ? null : consoleOutput({ answer: answerOnConsole });
  const console = shown && {
    ...shown,
    completion(steps: number, limit: number): void {
      endShown = true;
      shown.completion(steps, limit);
    },
  };
  const inspector = inspect === null ? null : await startInspector(inspect);
  const interrupts = takeInterrupts();
  const agent = createAgent({
    name: 'signalbox',
    instructions: instructionsFor(folder),
    model: model.model,
    ...(mcpServers === null ? { tools: folderTools(folder) } : { mcpServers }),
    journal: journal.journal,
    output: console ?? silentOutput(),
    silent: choices.silent,
    showPrompts: choices.showPrompts,
    showStats: choices.showStats,
    ...(inspector === null ? {} : { inspect: inspector }),
    // Streaming is worth its events only where a person is looking.
    streaming: console !== null && process.stderr.isTTY === true,
    ...(choices.silent ? {} : asksInTerminal(interrupts)),
    ...(choices.maxSteps === undefined ? {} : { maxSteps: choices.maxSteps }),
  });
  const close = async (): Promise<void> => {
    interrupts.release();
    await agent.close();
    await inspector?.close();
    await model.close();
  };
  const readsOnly = mcpServers === null;
  return { agent, console, endShown: () => endShown, model, readsOnly, journal, inspector, interrupts, close };
}

/** Throws where Node takes the folder for another one, in which it would read and write. */
function currentFolder(): string {
  const folder = process.cwd();
  if (!folder.includes('\ufffd') || statSync(folder, { throwIfNoEntry: false })?.ino === statSync('.').ino)
    return folder;
  throw new Error(`The path of this folder is not UTF-8: it would be taken for '${folder}'.`);
}

/** Ctrl-C at a question stops the whole run, as everywhere else. Without a terminal no question is asked. */
function asksInTerminal({ interrupt }: Interrupts): Pick<AgentOptions, 'confirm' | 'elicit'> {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return {};
  return { confirm: terminalConfirm({ onInterrupt: interrupt }), elicit: terminalElicit({ onInterrupt: interrupt }) };
}

async function startInspector(options: { readonly open: boolean }): Promise<Inspector> {
  const { createInspector } = await import('../../inspector/create-inspector.ts');
  return createInspector(options);
}

function instructionsFor(folder: string): string {
  return (
    'You are a helpful assistant. You work with the tools that you are given, and say frankly when they do not suffice. ' +
    `The current folder is ${folder}.`
  );
}

/**
 * The MCP servers of a command: those of a configuration file, else the file server on a folder, or null where that is not
 * installed. Tools that may change something ask first, unless the file names a policy. Throws a {@link UsageError} for a
 * file that cannot be used.
 */
async function chooseServers(file: string | undefined, folder: string): Promise<McpServersConfig | null> {
  if (file === undefined) return fileServer(folder);
  try {
    await readMcpConfigFile(file);
    const entries = Object.entries(await readMcpConfigEntries(file));
    return Object.fromEntries(
      entries.flatMap(([name, config]) =>
        isConfig(config) ? [[name, { ...config, policy: config.policy ?? 'by-annotations' }]] : [],
      ),
    );
  } catch (error) {
    if (error instanceof McpConfigError) throw new UsageError(`--mcp: ${error.message}`);
    throw error;
  }
}

/** The reference file server, where it is installed beside us, with our own Node: nothing is downloaded. */
function fileServer(folder: string): McpServersConfig | null {
  const require = createRequire(import.meta.url);
  try {
    const description = require.resolve('@modelcontextprotocol/server-filesystem/package.json');
    const { bin }: { readonly bin: Readonly<Record<string, string>> } = require(description);
    const entry = join(dirname(description), bin['mcp-server-filesystem'] ?? 'dist/index.js');
    return { files: { command: process.execPath, args: [entry, folder], policy: 'by-annotations' } };
  } catch (error) {
    if (systemCode(error) === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

/** Where runs are recorded: in memory alone, or in files, of which `fileOf` names that of a run. */
export type ChosenJournal =
  | { readonly kind: 'memory'; readonly journal: JournalStore }
  | { readonly kind: 'files'; readonly journal: JournalStore; fileOf(runId: string): string | undefined };

/** Below the current folder. */
const RUNS = join('.signalbox', 'runs');

/**
 * Chooses where runs are recorded: the file that was named, else `.signalbox/runs`. If the folder cannot be written to,
 * runs are recorded in memory. Throws a {@link UsageError} for a named file that cannot be written.
 */
export function chooseJournal(file: string | undefined): ChosenJournal {
  currentFolder();
  if (file !== undefined) {
    checkWritable(file);
    return namedFiles(file);
  }
  try {
    makeFolder(RUNS);
    accessSync(RUNS, constants.W_OK);
  } catch {
    return { kind: 'memory', journal: memoryJournal() };
  }
  return { kind: 'files', journal: fileJournal(RUNS), fileOf: (runId) => join(RUNS, `${runId}.jsonl`) };
}

/** The first run goes into the file itself, those that follow into numbered ones beside it: `run.jsonl`, `run-2.jsonl`. */
function namedFiles(file: string): ChosenJournal {
  const { dir, name, ext } = parse(file);
  const files = new Map<string, string>();
  const journal: JournalStore = {
    open(run) {
      const path = files.size === 0 ? file : join(dir, `${name}-${files.size + 1}${ext}`);
      const opened = singleFileJournal(path).open(run);
      files.set(run.head.runId, path);
      return opened;
    },
  };
  return { kind: 'files', journal, fileOf: (runId) => files.get(runId) };
}

function checkWritable(file: string): void {
  const there = statSync(file, { throwIfNoEntry: false });
  if (there?.isDirectory() === true) throw new UsageError(`--record: '${file}' is a folder. Name a file.`);
  try {
    accessSync(there === undefined ? dirname(file) : file, constants.W_OK);
    // Stays open: to open a pipe blocks the process until another one reads it, and a reader ends with its last writer.
    if (there?.isFIFO() === true) openSync(file, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (systemCode(error) === 'ENXIO') throw new UsageError(`--record: '${file}' is a pipe that no one reads.`);
    throw new UsageError(`--record: '${file}' cannot be written. Is there such a folder, and may you write there?`);
  }
}
