import { handle } from './handle.js';

Deno.serve({ port: Number(Deno.env.get('PORT')), hostname: '127.0.0.1' }, handle);
