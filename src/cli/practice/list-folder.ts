import { findValues } from './fill-arguments.ts';
import { counted } from '../../terminal/text-width.ts';
import { listed, phraseResult } from './phrase.ts';
import {
  findTool,
  finishedCalls,
  pathOf,
  wasCalled,
  type PracticeDecision,
  type Finished,
  type Rule,
  type Scene,
  below,
  isAbsolute,
  whereabouts,
} from './scene.ts';
import type { PromptTool } from '../../testing/tools-in-prompt.ts';
import { isJsonObject } from '../../json/json.ts';

const ABOUT_FOLDERS = /\b(?:folder|folders|directory|directories|files?|subfolders?)\b/i;
const ASKS_FOR_CONTENT = /\b(?:what|which|list|show|how many|contents?|largest|biggest|smallest|inside|see|there)\b/i;
const OTHER_BUSINESS =
  /\b(?:read|open|write|create|delete|move|rename|copy|edit|find|search|locate|first \d+ lines?|lines? of)\b/i;
const NAMED_FOLDER =
  /\b(?:folder|directory|inside|in|of|under)\s+(?:the\s+)?(?:folder\s+|directory\s+)?["'`]?([\w.@~\\/:-]+)["'`]?/gi;
const NO_FOLDER = new Set(
  'this the a here that it my all total and size bytes there files file folder directory'.split(' '),
);

/** Reports what is in a folder, how much, and which file is the largest or smallest. */
export const listFolder: Rule = (scene) => {
  const { question } = scene;
  if (!ABOUT_FOLDERS.test(question) || !ASKS_FOR_CONTENT.test(question) || OTHER_BUSINESS.test(question))
    return undefined;
  const tool = findTool(scene, 'list_directory_with_sizes', 'list_directory');
  if (tool === undefined) return undefined;

  const done = finishedCalls(scene, tool);
  if (done.length > 0) return continueWith(scene, done);
  const named = namedFolder(question);
  if (named !== undefined && isAbsolute(named)) return list(tool, [named]);
  const place = whereabouts(scene);
  if (place.kind === 'ask')
    return { kind: 'calls', thought: 'First I find out which folder this is.', calls: [place.call] };
  const folders = place.kind === 'known' ? place.folders : ['.'];
  return list(
    tool,
    folders.map((folder) => (named === undefined ? folder : below(folder, named))),
  );
};

function list(tool: PromptTool, folders: readonly string[]): PracticeDecision {
  const properties = tool.schema['properties'];
  // Sorted by size the largest file comes first, even where a long listing is cut.
  const sorted = isJsonObject(properties) && 'sortBy' in properties ? { sortBy: 'size' } : {};
  const calls = folders.map((path) => ({ tool: tool.name, args: { path, ...sorted } }));
  const named = listed(folders.map((path) => (path === '.' ? 'this folder' : path)));
  return { kind: 'calls', thought: `I list ${named}.`, calls };
}

function continueWith(scene: Scene, done: readonly Finished[]): PracticeDecision {
  const failed = done.filter((call) => !call.result.ok);
  if (failed.length === done.length) return { kind: 'answer', text: failed.map(phraseResult).join('\n') };
  const good = done.filter((call) => call.result.ok);
  const folders = good.map((call) => readListing(pathOf(call), call.result.text));
  const sizes = /largest|biggest|smallest|size/i.test(scene.question) ? sizesToAsk(scene, folders) : undefined;
  if (sizes !== undefined) return sizes;
  const known = folders.map((folder) => withSizes(scene, folder));
  return { kind: 'answer', text: known.map((folder) => tell(folder, scene.question)).join('\n') };
}

const MOST_FILES = 30;

/** A listing without sizes is completed file by file. */
function sizesToAsk(scene: Scene, folders: readonly FolderListing[]): PracticeDecision | undefined {
  const tool = findTool(scene, 'get_file_info');
  if (tool === undefined) return undefined;
  const calls = folders
    .flatMap((folder) =>
      folder.files.filter((file) => file.size === undefined).map((file) => below(folder.path, file.name)),
    )
    .slice(0, MOST_FILES)
    .map((path) => ({ tool: tool.name, args: { path } }))
    .filter((call) => !wasCalled(scene, call));
  return calls.length === 0 ? undefined : { kind: 'calls', thought: 'I look up the size of every file.', calls };
}

function withSizes(scene: Scene, folder: FolderListing): FolderListing {
  const infos = finishedCalls(scene, findTool(scene, 'get_file_info'));
  const files = folder.files.map((file) => {
    const info = infos.find((call) => pathOf(call) === below(folder.path, file.name));
    const bytes = info?.result.ok === true ? /^size: (\d+)/m.exec(info.result.text)?.[1] : undefined;
    return bytes === undefined ? file : { ...file, size: `${bytes} bytes`, bytes: Number(bytes) };
  });
  return { ...folder, files };
}

const SHOWN = 15;

function tell(folder: FolderListing, question: string): string {
  const { path, files, folders, fileCount, folderCount } = folder;
  if (fileCount + folderCount === 0) return `The folder ${path} is empty.`;
  const counts = listed([counted(fileCount, 'file'), ...(folderCount === 0 ? [] : [counted(folderCount, 'folder')])]);
  const names = [
    ...files.map((file) => (file.size === undefined ? file.name : `${file.name} (${file.size})`)),
    ...folders.map((name) => `${name}/`),
  ];
  const more = fileCount + folderCount - Math.min(names.length, SHOWN);
  const shown = more > 0 ? [...names.slice(0, SHOWN), `${String(more)} more`] : names;
  const sentences = [`The folder ${path} holds ${counts}: ${listed(shown)}.`];
  const bySize = files.filter((file) => file.bytes !== undefined).toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
  const [largest, smallest] = [bySize[0], bySize.at(-1)];
  if (/largest|biggest/i.test(question)) {
    sentences.push(
      largest === undefined
        ? 'It has no file whose size is known.'
        : `The largest file is ${largest.name} with ${largest.size ?? ''}.`,
    );
  }
  if (/smallest/i.test(question) && smallest !== undefined) {
    sentences.push(`The smallest file is ${smallest.name} with ${smallest.size ?? ''}.`);
  }
  return sentences.join(' ');
}

function namedFolder(question: string): string | undefined {
  const quoted = findValues(question).quoted[0];
  if (quoted !== undefined) return quoted;
  const names = [...question.matchAll(NAMED_FOLDER)].map((match) => (match[1] ?? '').replace(/[.,;:?!]+$/, ''));
  return names.find((name) => name !== '' && !NO_FOLDER.has(name.toLowerCase()));
}

/** A file of a listing. `size` is as the tool wrote it. */
interface ListedFile {
  readonly name: string;
  readonly size: string | undefined;
  readonly bytes: number | undefined;
}

/** What a folder holds. The counts are right even where the listing is cut. */
interface FolderListing {
  readonly path: string;
  readonly files: readonly ListedFile[];
  readonly folders: readonly string[];
  readonly fileCount: number;
  readonly folderCount: number;
}

const FILE = /^\[FILE\]\s(.+?)(?:\s+(\d+(?:\.\d+)?) (B|KB|MB|GB|TB))?\s*$/;
const FOLDER = /^\[DIR\]\s(.+?)\s*$/;
const TOTAL = /^Total: (\d+) files?, (\d+) director/m;
const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** Reads a listing as the file server writes it: `[FILE] name  4.88 KB` and `[DIR] name`, a line each. */
function readListing(path: string, text: string): FolderListing {
  const lines = text.split('\n');
  const all = lines.flatMap((line) => readFile(FILE.exec(line)));
  // Where a listing has sizes, a line without one is a piece of a line that was cut.
  const files = all.some((file) => file.size !== undefined) ? all.filter((file) => file.size !== undefined) : all;
  const folders = lines.flatMap((line) => FOLDER.exec(line)?.[1] ?? []);
  const total = TOTAL.exec(text);
  return {
    path,
    files,
    folders,
    fileCount: total === null ? files.length : Number(total[1]),
    folderCount: total === null ? folders.length : Number(total[2]),
  };
}

function readFile(match: RegExpExecArray | null): readonly ListedFile[] {
  if (match === null) return [];
  const [, name = '', amount, unit = 'B'] = match;
  if (amount === undefined) return [{ name, size: undefined, bytes: undefined }];
  return [{ name, size: `${amount} ${unit}`, bytes: Number(amount) * 1024 ** UNITS.indexOf(unit) }];
}
