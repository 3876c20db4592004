import { answer, page } from './agent.js';

void (async () => console.log(`${await answer()} ${await page()}`))();
