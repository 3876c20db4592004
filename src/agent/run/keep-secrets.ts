import type { OwnVault } from '../../actors/vault.ts';
import type { AgentCore } from '../agent-core.ts';

/**
 * Keeps what a run's marks stand for where its journal keeps secrets, so that another process can take the run up. What
 * cannot be kept is a warning; its mark is then lost with this process. Gives back how to stop.
 */
export function keepSecrets(core: AgentCore, runId: string, vault: OwnVault): () => void {
  const secrets = core.options().journal?.secrets;
  if (secrets === undefined) return () => undefined;
  const keep = (marks: Readonly<Record<string, string>>): void => {
    try {
      secrets.keep(runId, marks);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      process.emitWarning(`A secret of run ${runId} could not be kept; the run cannot be resumed with it. ${why}`);
    }
  };
  const marks = vault.marks();
  if (Object.keys(marks).length > 0) keep(marks);
  return vault.onMark((mark, secret) => keep({ [mark]: secret }));
}
