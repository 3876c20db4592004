import { answer, page } from '../../agent.js';

export const dynamic = 'force-dynamic';
export const GET = async () => new Response(`${await answer()} ${await page()}`);
