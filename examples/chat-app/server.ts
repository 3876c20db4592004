// A chat app: one agent whose chats are shown by useRun, by useChat of the AI SDK and by a client of AG-UI. All they show is in one journal.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { agUi, runStream, uiStream } from 'signalbox/ui';
import { agent, journal } from './agent.ts';
import { bundledPage } from './bundled-page.ts';

// In your app, what your authentication says. Check the origin there, too.
const owner = 'ann';
const page = await bundledPage();
const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Chat</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"><style>p, code, legend { white-space: pre-wrap; overflow-wrap: anywhere }</style>
<main></main><script type="module" src="/page.js"></script>`;

const app = new Hono();
app.get('/', (context) => context.html(html));
app.get('/page.js', (context) => context.body(page, 200, { 'content-type': 'text/javascript' }));
app.all('/api/run', (context) => runStream.serve(agent, context.req.raw, { journal, owner }));
app.all('/api/chat/*', (context) => uiStream.serve(agent, context.req.raw, { journal, owner }));
app.all('/api/chat', (context) => uiStream.serve(agent, context.req.raw, { journal, owner }));
app.all('/api/ag-ui', (context) => agUi.serve(agent, context.req.raw, { journal, owner }));

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}`),
);
