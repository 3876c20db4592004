/** A file of a listing. `size` is as the tool wrote it. */
export interface ListedFile {
  readonly name: string;
  readonly size: string | undefined;
  readonly bytes: number | undefined;
}

/** What a folder holds. The counts are right even where the listing is cut. */
export interface FolderListing {
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
export function readListing(path: string, text: string): FolderListing {
  const lines = text.split('\n');
  const all = lines.flatMap((line) => readFile(FILE.exec(line)));
  // Where a listing tells sizes, a line without one is a piece of a line that was cut.
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
