import { createHash } from 'node:crypto';
import { PROTOCOL, type Frame, type SavedPage } from '../frames/protocol.ts';
import type { PageFiles } from './page-files.ts';
import type { Session } from '../sessions/session.ts';
import { share } from '../frames/shared-json.ts';

const EMPTY =
  '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Signalbox</title></head><body></body></html>';

/** What a saved page is made of. */
interface ExportOptions {
  readonly session: Session;
  /** Another session that it can be compared with; null for none. */
  readonly beside: Session | null;
  readonly page: PageFiles;
  /** Signalbox's own. */
  readonly version: string;
}

/**
 * One HTML file that shows a session without a server: the page, and the session's frames as inert JSON. Its own policy
 * lets nothing run but the page's script, and nothing be loaded at all.
 */
export async function exportPage({ session, beside, page, version }: ExportOptions): Promise<string> {
  const [index, script, style] = await Promise.all(['index.html', 'saved.js', 'assets/styles.css'].map(page.read));
  const { frames, details } = await session.saved();
  const other = beside === null ? null : { session: beside.id, ...(await beside.saved()) };
  const hello: Frame = { t: 'hello', protocol: PROTOCOL, version, live: false };
  const saved: SavedPage = {
    frames: [hello, ...frames, ...(other?.frames ?? [])],
    details: share(details),
    beside: other === null ? null : { session: other.session, details: share(other.details) },
  };
  return assemble(index?.body.toString() ?? EMPTY, {
    script: script?.body.toString() ?? '',
    style: style?.body.toString() ?? '',
    data: JSON.stringify(saved),
  });
}

interface Parts {
  readonly script: string;
  readonly style: string;
  readonly data: string;
}

/** Puts a page's parts into its HTML, in place of the files that it would load. */
export function assemble(html: string, parts: Parts): string {
  const script = parts.script.replaceAll(/<\/(script)|<!--/gi, (_, tag?: string) =>
    tag === undefined ? '\\x3C!--' : `\\x3C/${tag}`,
  );
  const style = parts.style.replaceAll(/<\/style/gi, '<\\/style');
  const policy = [
    "default-src 'none'",
    `script-src '${sha256(script)}'`,
    `style-src '${sha256(style)}'`,
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  const bare = html
    .replaceAll(/<link\b[^>]*>/gi, '')
    .replaceAll(/<script\b[^>]*>[^]*?<\/script>/gi, '')
    .replaceAll(/<meta\b[^>]*http-equiv[^>]*>/gi, '');
  const head = `<meta http-equiv="Content-Security-Policy" content="${policy}"><style>${style}</style>`;
  const tail = `<script type="application/json" id="signalbox-saved">${inertData(parts.data)}</script><script>${script}</script>`;
  return insert(
    insert(bare, /<head\b[^>]*>/i, (tag) => tag + head),
    /<\/body>/i,
    (tag) => tail + tag,
  );
}

function insert(html: string, at: RegExp, replace: (tag: string) => string): string {
  // A function, because the text may hold `$&` and the like.
  return html.replace(at, (tag) => replace(tag));
}

/** JSON that no HTML parser takes for anything else: without `<`, `>`, `&` and line separators. */
function inertData(json: string): string {
  return json.replaceAll(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function sha256(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
