// All benchmarks, one after the other. Run with: npm run bench
await import('./turns.ts');
await import('./concurrent.ts');
await import('./cold-start.ts');
await import('./idle-agents.ts');
await import('./replay.ts');
