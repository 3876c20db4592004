import { readFileSync } from 'node:fs';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { createAgent, tool } from '../../src/index.ts';
import { memoryJournal } from '../../src/journal/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { calls } from '../support/replies.ts';
import { REPORT } from '../../scripts/api-report.ts';
import type * as coverage from '../../src/testing/coverage/index.ts';
import type * as inspector from '../../src/inspector/index.ts';
import type * as journal from '../../src/journal/index.ts';
import type * as mcp from '../../src/mcp/index.ts';
import type * as models from '../../src/models/index.ts';
import type * as parsing from '../../src/parsing/index.ts';
import type * as postgres from '../../src/journal/postgres/index.ts';
import type * as restate from '../../src/restate/index.ts';
import type * as security from '../../src/security/index.ts';
import type * as signalbox from '../../src/index.ts';
import type * as store from '../../src/store/index.ts';
import type * as telemetry from '../../src/telemetry/index.ts';
import type * as testing from '../../src/testing/index.ts';
import type * as ui from '../../src/ui/index.ts';

/** The members that may be left out, and may not be `undefined` under `exactOptionalPropertyTypes`. */
type Exact<T> = {
  [Name in keyof T]-?: T extends Record<Name, unknown>
    ? never
    : Record<Name, undefined> extends Pick<T, Name>
      ? never
      : Name;
}[keyof T];

/** What users write. */
interface Given {
  AgentOptions: signalbox.AgentOptions;
  AgServeOptions: ui.AgServeOptions;
  AiSdkOptions: models.AiSdkOptions;
  ApprovalOptions: signalbox.ApprovalOptions;
  CallOptions: testing.CallOptions;
  ChatModelOptions: models.ChatModelOptions;
  ChatOptions: ui.ChatOptions;
  ChatRunsOptions: ui.ChatRunsOptions;
  ChatTransportOptions: ui.ChatTransportOptions;
  ClientCredentialsOptions: mcp.ClientCredentialsOptions;
  ConversationOptions: signalbox.ConversationOptions;
  CoverageOptions: coverage.CoverageOptions;
  EngineConformanceOptions: journal.EngineConformanceOptions;
  ExploreOptions: testing.ExploreOptions;
  FileJournalOptions: journal.FileJournalOptions;
  FileTokenStoreOptions: mcp.FileTokenStoreOptions;
  ForkOptions: journal.ForkOptions;
  HostileModelOptions: testing.HostileModelOptions;
  IdentityProviderOptions: mcp.IdentityProviderOptions;
  InspectorOptions: inspector.InspectorOptions;
  JournalConformanceOptions: journal.JournalConformanceOptions;
  McpAnswers: mcp.McpAnswers;
  McpCallOptions: mcp.McpCallOptions;
  McpConnectionOptions: mcp.McpConnectionOptions;
  McpRequestOptions: mcp.McpRequestOptions;
  MemoryJournalOptions: journal.MemoryJournalOptions;
  Model: Omit<models.Model, 'check'>;
  OAuthOptions: mcp.OAuthOptions;
  OnError: signalbox.OnError;
  OpenTelemetryOptions: telemetry.OpenTelemetryOptions;
  ParseReplyOptions: parsing.ParseReplyOptions;
  PermissionStoreOptions: security.PermissionStoreOptions;
  PostgresJournalOptions: postgres.PostgresJournalOptions;
  QueueOptions: signalbox.QueueOptions;
  RecoverJsonOptions: parsing.RecoverJsonOptions;
  ReplayOptions: journal.ReplayOptions;
  RestateAgentOptions: restate.RestateAgentOptions;
  RestateClientOptions: restate.RestateClientOptions;
  ResumeOptions: signalbox.ResumeOptions;
  ResumeStreamOptions: ui.ResumeStreamOptions;
  RunOptions: signalbox.RunOptions;
  RunQuery: journal.RunQuery;
  RunStoreOptions: store.RunStoreOptions;
  ServeOptions: ui.ServeOptions;
  SimulateOptions: testing.SimulateOptions;
  SkillDefinition: signalbox.SkillDefinition;
  SqliteJournalOptions: journal.SqliteJournalOptions;
  StatelyOutputOptions: inspector.StatelyOutputOptions;
  SteerOptions: signalbox.SteerOptions;
  TerminalConfirmOptions: security.TerminalConfirmOptions;
  TerminalElicitOptions: mcp.TerminalElicitOptions;
  ToolDefinition: Parameters<typeof tool>[0];
  ToolRegistryOptions: signalbox.ToolRegistryOptions;
  ToResponseOptions: inspector.ToResponseOptions;
  UseRecordingOptions: testing.UseRecordingOptions;
}

const CHECKED: { readonly [Name in keyof Given]: true } = {
  AgentOptions: true,
  AgServeOptions: true,
  AiSdkOptions: true,
  ApprovalOptions: true,
  CallOptions: true,
  ChatModelOptions: true,
  ChatOptions: true,
  ChatRunsOptions: true,
  ChatTransportOptions: true,
  ClientCredentialsOptions: true,
  ConversationOptions: true,
  CoverageOptions: true,
  EngineConformanceOptions: true,
  ExploreOptions: true,
  FileJournalOptions: true,
  FileTokenStoreOptions: true,
  ForkOptions: true,
  HostileModelOptions: true,
  IdentityProviderOptions: true,
  InspectorOptions: true,
  JournalConformanceOptions: true,
  McpAnswers: true,
  McpCallOptions: true,
  McpConnectionOptions: true,
  McpRequestOptions: true,
  MemoryJournalOptions: true,
  Model: true,
  OAuthOptions: true,
  OnError: true,
  OpenTelemetryOptions: true,
  ParseReplyOptions: true,
  PermissionStoreOptions: true,
  PostgresJournalOptions: true,
  QueueOptions: true,
  RecoverJsonOptions: true,
  ReplayOptions: true,
  RestateAgentOptions: true,
  RestateClientOptions: true,
  ResumeOptions: true,
  ResumeStreamOptions: true,
  RunOptions: true,
  RunQuery: true,
  RunStoreOptions: true,
  ServeOptions: true,
  SimulateOptions: true,
  SkillDefinition: true,
  SqliteJournalOptions: true,
  StatelyOutputOptions: true,
  SteerOptions: true,
  TerminalConfirmOptions: true,
  TerminalElicitOptions: true,
  ToolDefinition: true,
  ToolRegistryOptions: true,
  ToResponseOptions: true,
  UseRecordingOptions: true,
};

/** Not written by users: what an agent shows of its options, the names of those that can change, what a client of theirs takes. */
const OTHERS = ['ResolvedOptions', 'ConfigurableOptions', 'ClientRequestOptions'];

describe('an option that is undefined', () => {
  test('may be written wherever it may be left out', () => {
    expectTypeOf<{ [Name in keyof Given]: Exact<Given[Name]> }[keyof Given]>().toBeNever();
    const all = [...readFileSync(REPORT, 'utf8').matchAll(/type (\w+(?:Options|Definition))$/gm)].map(
      ([, name]) => name,
    );
    expect(new Set(all).size).toBeGreaterThan(40);
    expect(all.filter((name = '') => !Object.hasOwn(CHECKED, name) && !OTHERS.includes(name))).toEqual([]);
  });

  test('counts as left out', async () => {
    const add = tool({
      name: 'add',
      description: 'Adds one.',
      inputSchema: undefined,
      policy: undefined,
      effects: undefined,
      timeoutMs: undefined,
      validateArgs: undefined,
      needsApproval: undefined,
      onError: undefined,
      execute: () => 2,
    });
    const model = scriptedModel([calls(['add']), 'Two.'], { toolCalling: undefined });
    const journal = memoryJournal({ maxRuns: undefined });
    const agent = createAgent({
      model,
      journal,
      tools: [add],
      silent: true,
      name: undefined,
      confirm: undefined,
      maxSteps: undefined,
      timeouts: { toolMs: undefined, totalMs: undefined },
      retry: { maxAttempts: undefined, backoff: undefined },
      budget: undefined,
      outputSchema: undefined,
      onError: undefined,
      limits: { mcp: undefined },
    });
    const result = await agent.run('Add.', {
      signal: undefined,
      runId: undefined,
      maxSteps: undefined,
      park: undefined,
    });
    expect(result).toMatchObject({ success: true, result: 'Two.' });
    expect(agent.options).toEqual(createAgent({ model, journal, tools: [add], silent: true }).options);
    const [kept] = await journal.list({ agent: undefined, reason: undefined, limit: undefined, after: undefined });
    expect(kept).toMatchObject({ runId: result.runId, agent: 'agent' });
  });
});
