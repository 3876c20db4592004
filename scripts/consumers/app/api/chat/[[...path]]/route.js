import { handle } from '../../../../chat/handle.js';

export const dynamic = 'force-dynamic';
export const GET = handle;
export const POST = handle;
