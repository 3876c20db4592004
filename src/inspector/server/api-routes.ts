import { describeThrown } from '../../json/to-json.ts';
import { eventBytes } from '../frames/frame-log.ts';
import {
  type Act,
  type Frame,
  MOST_RECORDING_BYTES,
  PROTOCOL,
  type SavedPage,
  type SavedSession,
} from '../frames/protocol.ts';
import { isTextWithinDepth } from '../../json/depth.ts';
import { type Json, type JsonObject, isJsonObject, parsedText } from '../../json/json.ts';
import { share } from '../frames/shared-json.ts';
import { receiveText } from '../sessions/received-systems.ts';
import { type Session, type SessionList, searchSessions } from '../sessions/session-list.ts';
import type { PageFiles } from './page-files.ts';
import { eventStream, lastNumber } from './sse-response.ts';
import { createHash } from 'node:crypto';
import { z } from 'zod';

/** What the routes answer from. */
export interface RouteWorld {
  readonly sessions: SessionList;
  readonly page: () => Promise<PageFiles>;
  /** Shows a recording, and returns the id of its session; throws if it cannot be read. */
  readonly open: (recording: string) => string;
  /** Takes an event of another app; false when it is none. */
  readonly receive: (event: unknown, app: string) => boolean;
  /** Signalbox's own. */
  readonly version: string;
}

/** A request that was found to be allowed. */
export interface AllowedRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly lastEventId: string | undefined;
  /** Rejects if it has more bytes than this, or than an ordinary request may have. */
  readonly body: (most?: number) => Promise<string>;
}

const MOST_FRAMES = 5000;

/** Answers a request; 404 for what is not there. */
export async function answer(request: AllowedRequest, world: RouteWorld): Promise<Response> {
  const { url, method } = request;
  const parts = url.pathname.split('/').slice(1).map(decoded);
  if (parts[0] !== 'api') return method === 'GET' ? pageFile(url.pathname, world) : notFound();
  if (parts[1] === 'stream' && parts.length === 2) return listStream(world);
  if (parts[1] === 'recordings' && method === 'POST') return open(await request.body(MOST_RECORDING_BYTES), world);
  if (parts[1] === 'stately' && parts.length === 2)
    return method === 'POST' ? receive(await request.body(), url.searchParams.get('app') ?? '', world) : notFound();
  if (parts[1] === 'search' && parts.length === 2 && method === 'GET')
    return Response.json(await searchSessions(world.sessions.all(), url.searchParams.get('q') ?? ''));
  const session = world.sessions.find(parts[2] ?? '');
  if (parts[1] === 'sessions' && parts[3] === 'stream' && method === 'GET')
    return sessionStream(parts[2] ?? '', numberFrom(request), world);
  if (parts[1] !== 'sessions' || session === undefined) return notFound();
  if (method === 'POST') return parts[3] === 'act' ? act(session, request) : notFound();
  return sessionPart(session, parts.slice(3), request, world);
}

async function sessionPart(
  session: Session,
  [part, which]: readonly string[],
  request: AllowedRequest,
  { page, version, sessions }: RouteWorld,
): Promise<Response> {
  const { url } = request;
  switch (part) {
    case 'frames': {
      const limit = lastNumber(url.searchParams.get('limit'));
      const found = session.kept?.page(numberFrom(request), Math.min(limit === 0 ? 1000 : limit, MOST_FRAMES));
      return found === undefined ? notFound() : Response.json(found);
    }
    case 'steps': {
      const detail = session.kept?.detail(lastNumber(which)) ?? null;
      return detail === null ? notFound() : Response.json(detail);
    }
    case 'lines': {
      const lines = session.lines?.();
      if (lines === undefined) return notFound();
      return new Response(streamOf(lines), { headers: { 'content-type': 'application/x-ndjson' } });
    }
    case 'recording': {
      const text = session.recording();
      return text === null ? notFound() : download(text, 'application/x-ndjson', `${session.id}.jsonl`);
    }
    case 'export': {
      const other = sessions.find(url.searchParams.get('beside') ?? '');
      const beside = other === undefined || other === session ? null : other;
      const html = await exportPage({ session, beside, page: await page(), version });
      return download(html, 'text/html', `${session.id}.html`);
    }
    default:
      return notFound();
  }
}

function streamOf(parts: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const next = await parts.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: () => void parts.return(),
  });
}

async function act(session: Session, request: AllowedRequest): Promise<Response> {
  const wanted = readAct(await request.body());
  if (typeof wanted === 'string') return Response.json({ ok: false, message: wanted }, { status: 400 });
  return Response.json(await session.act(wanted));
}

function open(recording: string, world: RouteWorld): Response {
  try {
    return Response.json({ ok: true, session: world.open(recording) });
  } catch (error) {
    return Response.json({ ok: false, message: describeThrown(error).message }, { status: 400 });
  }
}

function receive(body: string, app: string, world: RouteWorld): Response {
  const reply = receiveText(body, (event) => world.receive(event, app));
  return Response.json(reply, { status: reply.ok ? 200 : 400 });
}

async function pageFile(path: string, { page }: RouteWorld): Promise<Response> {
  const file = await (await page()).read(path === '/' ? 'index.html' : path.slice(1));
  return file === null ? notFound() : new Response(file.body, { headers: { 'content-type': file.type } });
}

function numberFrom({ lastEventId, url }: AllowedRequest): number {
  return lastNumber(lastEventId ?? url.searchParams.get('from'));
}

/** Of a session that is not here, what comes as soon as it is: a browser asks only once for what there is not. */
function sessionStream(id: string, from: number, { sessions }: RouteWorld): Response {
  return eventStream(async function* (signal) {
    const session = sessions.find(id) ?? (await sessions.arrival(id, signal));
    if (session !== undefined) yield* session.follow(from, signal);
  });
}

/** The list of sessions: each as it is now, and again whenever it changes. */
function listStream({ sessions, version }: RouteWorld): Response {
  async function* batches(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    let isGreeted = false;
    for await (const ids of sessions.follow(signal)) {
      const hello: Frame = { t: 'hello', protocol: PROTOCOL, version, sessions: ids };
      const changed = ids.map((id): Frame => {
        const session = sessions.find(id);
        return session === undefined ? { t: 'session-gone', session: id } : { t: 'session', session: session.info() };
      });
      yield eventBytes(isGreeted ? changed : [hello, ...changed]);
      isGreeted = true;
    }
  }
  return eventStream(batches);
}

function download(body: string, type: string, name: string): Response {
  const safe = name.replaceAll(/[^A-Za-z0-9._-]/g, '_');
  return new Response(body, {
    headers: { 'content-type': `${type}; charset=utf-8`, 'content-disposition': `attachment; filename="${safe}"` },
  });
}

function notFound(): Response {
  return new Response('There is nothing here.', { status: 404, headers: { 'content-type': 'text/plain' } });
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

// What was parsed is JSON. A schema that looks into it would leave out a member such as `__proto__`.
const object = z.custom<JsonObject>(isJsonObject, 'expected an object');
const shortText = z.string().max(100_000);
const isEvent = (value: unknown) => isJsonObject(value) && shortText.min(1).safeParse(value.type).success;

const schema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('approve'),
    callId: shortText,
    always: z.boolean().exactOptional(),
    args: object.exactOptional(),
  }),
  z.strictObject({ kind: z.literal('reject'), callId: shortText, reason: shortText.exactOptional() }),
  z.strictObject({ kind: z.literal('cancel'), reason: shortText.exactOptional() }),
  z.strictObject({
    kind: z.literal('send'),
    event: z
      .custom<JsonObject & { readonly type: string }>(isEvent, 'expected an object with a type')
      .transform(({ type, ...carried }) => ({ type, ...carried })),
    to: shortText.exactOptional(),
  }),
  z.strictObject({ kind: z.literal('fork'), entry: z.int().min(1), outcome: z.custom<Json>().exactOptional() }),
]);

/** No value of a run is nested deeper. */
const DEEPEST = 500;

/** Reads what the page asks for; a text that says what is wrong with it otherwise. */
function readAct(body: string): Act | string {
  if (!isTextWithinDepth(body, DEEPEST)) return `The body is nested deeper than ${DEEPEST} levels.`;
  const parsed = parsedText(body);
  if (parsed === undefined) return 'The body is not JSON.';
  const checked = schema.safeParse(parsed);
  if (checked.success) return checked.data;
  return checked.error.issues
    .map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '))
    .join('; ');
}

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
 * One HTML file that shows a session without a server: the page, and the session's recording, or frames where there is none,
 * as escaped JSON. Its own policy lets nothing run but the page's script, and nothing be loaded at all.
 */
export async function exportPage({ session, beside, page, version }: ExportOptions): Promise<string> {
  const text = async (name: string): Promise<string | undefined> => (await page.read(name))?.body.toString();
  const scripts = ['layout-engine', 'player', 'main'].map((name) => text(`assets/${name}.js`));
  const saved: SavedPage = { version, sessions: [session, ...(beside === null ? [] : [beside])].map(savedSession) };
  return assemble((await text('index.html')) ?? EMPTY, {
    script: [await ownLayouts(text), ...(await Promise.all(scripts))].join('\n;'),
    style: (await text('assets/styles.css')) ?? '',
    data: JSON.stringify(saved),
  });
}

/** The layouts of our own machines, by the names of their files, where the page looks before it fetches one. */
async function ownLayouts(text: (name: string) => Promise<string | undefined>): Promise<string> {
  const index: unknown = JSON.parse((await text('assets/layouts.json')) ?? '{}');
  const names = ['layouts', ...Object.values(Object(index)).map((id) => `layouts-${String(id)}`)];
  const files = names.map(async (name) => `${JSON.stringify(name)}:${(await text(`assets/${name}.json`)) ?? '{}'}`);
  return `globalThis.signalboxLayouts={${(await Promise.all(files)).join()}}`;
}

function savedSession(session: Session): SavedSession {
  const { kind, ...about } = session.info();
  const info = { ...about, kind: kind === 'run' ? 'recording' : kind, can: [] } as const;
  const all = session.kept?.all();
  if (all === undefined) return { info, lines: session.recording() ?? '' };
  return { info, frames: all.frames, details: share(all.details) };
}

/** Puts a page's parts into its HTML, in place of the files that it would load. */
function assemble(html: string, parts: Readonly<Record<'script' | 'style' | 'data', string>>): string {
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
  const tail = `<script type="application/json" id="signalbox-saved">${escapedData(parts.data)}</script><script type="module">${script}</script>`;
  // Functions, because the texts may hold `$&` and the like.
  return bare.replace(/<head\b[^>]*>/i, (tag) => tag + head).replace(/<\/body>/i, (tag) => tail + tag);
}

/** JSON that no HTML parser takes for anything else: without `<`, `>`, `&` and line separators. */
function escapedData(json: string): string {
  return json.replaceAll(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function sha256(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
