import { getRequestListener } from '@hono/node-server';
import express from 'express';
import { handle } from './handle.js';

const app = express();
app.all('/api/chat{/*path}', getRequestListener(handle));
app.listen(Number(process.env.PORT), '127.0.0.1');
