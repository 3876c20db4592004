import { parsedJson } from '../frames/shared-json.ts';
import { describeThrown } from '../../json/to-json.ts';
import { eventStream, lastNumber } from './sse-response.ts';
import { eventBytes } from '../frames/frame-log.ts';
import { exportPage } from './export-page.ts';
import type { PageFiles } from './page-files.ts';
import { type Frame, type FramePage, PROTOCOL, type Act } from '../frames/protocol.ts';
import { receiveText } from '../sessions/received-systems.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionList } from '../sessions/session-list.ts';
import { z } from 'zod';
import type { Json } from '../../json/json.ts';

/** What the routes answer from. */
export interface RouteWorld {
  readonly sessions: SessionList;
  readonly page: () => Promise<PageFiles>;
  /** Shows a recording, and gives the id of its session; throws when it cannot be read. */
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
  readonly body: () => Promise<string>;
}

const MOST_FRAMES = 5000;

/** Answers a request; 404 for what is not there. */
export async function answer(request: AllowedRequest, world: RouteWorld): Promise<Response> {
  const { url, method } = request;
  const parts = url.pathname.split('/').slice(1).map(decoded);
  if (parts[0] !== 'api') return method === 'GET' ? pageFile(url.pathname, world) : notFound();
  if (parts[1] === 'stream' && parts.length === 2) return listStream(world);
  if (parts[1] === 'recordings' && method === 'POST') return open(await request.body(), world);
  if (parts[1] === 'stately' && parts.length === 2)
    return method === 'POST' ? receive(await request.body(), url.searchParams.get('app') ?? '', world) : notFound();
  const session = world.sessions.find(parts[2] ?? '');
  if (parts[1] !== 'sessions' || session === undefined) return notFound();
  if (method === 'POST') return parts[3] === 'act' ? act(session, request) : notFound();
  return sessionPart(session, parts.slice(3), request, world);
}

async function sessionPart(
  session: Session,
  [part, which]: readonly string[],
  { url, lastEventId }: AllowedRequest,
  { page, version, sessions }: RouteWorld,
): Promise<Response> {
  const from = lastNumber(lastEventId ?? url.searchParams.get('from'));
  switch (part) {
    case 'stream':
      return eventStream((signal) => session.follow(from, signal));
    case 'frames': {
      const limit = lastNumber(url.searchParams.get('limit'));
      const found: FramePage = await session.page(from, Math.min(limit === 0 ? 1000 : limit, MOST_FRAMES));
      return Response.json(found);
    }
    case 'steps': {
      const detail = await session.detail(lastNumber(which));
      return detail === null ? notFound() : Response.json(detail);
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

/** The list of sessions: each as it is now, and again whenever it changes. */
function listStream({ sessions, version }: RouteWorld): Response {
  const hello: Frame = { t: 'hello', protocol: PROTOCOL, version, live: true };
  async function* batches(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    let greeting: readonly Frame[] = [hello];
    for await (const ids of sessions.follow(signal)) {
      const changed = ids.flatMap((id): readonly Frame[] => {
        const session = sessions.find(id);
        return session === undefined ? [] : [{ t: 'session', session: session.info() }];
      });
      yield eventBytes([...greeting, ...changed]);
      greeting = [];
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

const json: z.ZodType<Json> = z.json();
const object = z.record(z.string(), json);
const text = z.string().max(100_000);

const schema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('approve'),
    callId: text,
    always: z.boolean().exactOptional(),
    args: object.exactOptional(),
  }),
  z.strictObject({ kind: z.literal('reject'), callId: text, reason: text.exactOptional() }),
  z.strictObject({ kind: z.literal('cancel'), reason: text.exactOptional() }),
  z.strictObject({
    kind: z.literal('send'),
    event: z.intersection(z.object({ type: text.min(1) }), object),
    to: text.exactOptional(),
  }),
  z.strictObject({ kind: z.literal('fork'), entry: z.int().min(1), outcome: json.exactOptional() }),
]);

/** Reads what the page asks for; a text that says what is wrong with it otherwise. */
function readAct(body: string): Act | string {
  const parsed = parsedJson(body);
  if (parsed === undefined) return 'The body is not JSON.';
  const checked = schema.safeParse(parsed);
  if (checked.success) return checked.data;
  return checked.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
}
