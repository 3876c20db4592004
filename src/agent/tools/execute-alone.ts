import { createActor } from 'xstate';
import { callTool } from '../../actors/tool-call/call-tool.ts';
import { checkArgs } from '../../actors/tool-call/check-args.ts';
import type { McpCalls } from '../../actors/mcp/mcp-calls.ts';
import { rememberPermission, type Confirm, askApproval } from '../../actors/ask-approval.ts';
import { runFixer } from '../../actors/tool-call/run-fixer.ts';
import { describeThrown, toJson } from '../../json/to-json.ts';
import type { AgentSettings } from '../../machines/contract/agent-setup.ts';
import type { CallOutcome } from '../../machines/tool-call/call-request.ts';
import { NO_CALLER } from '../../machines/tool-call/tool-call-context.ts';
import { toolCallMachine } from '../../machines/tool-call/tool-call.ts';
import { withArguments } from '../../machines/tool-call/tool-recovery.ts';
import type { ToolResult } from '../../tools/result.ts';
import type { ToolSpec } from '../../tools/spec.ts';
import { type Granted, grantedBy, keepGrant } from './granted.ts';
import type { Permissions } from '../options/option-types.ts';
import type { RecoveryData, ResolvedSlot } from '../../recovery/plan-data.ts';
import type { SlotName } from '../../recovery/steps.ts';
import type { Tool } from '../../tools/tool.ts';

/** The owner of the tools: who is asked about calls that need it, and where "always allow" is kept. */
export interface RegistryHome {
  readonly mcp: McpCalls;
  settings(): AgentSettings;
  confirm(): Promise<Confirm | 'wait' | undefined>;
  permissions(): Promise<Permissions | undefined>;
}

/** The tools of a registry, as a call needs them. */
interface CallableTools {
  specs(granted?: Granted): readonly ToolSpec[];
  recovery(): RecoveryData;
  find(name: string): Tool | undefined;
  slot(tool: string, slot: SlotName): ResolvedSlot | undefined;
}

interface AloneCall {
  readonly registry: CallableTools;
  readonly name: string;
  readonly args: unknown;
  readonly io: { readonly signal?: AbortSignal; readonly context?: unknown };
  readonly home: RegistryHome;
}

/** Runs the toolCall machine for one call outside of any run: no loop guard, nothing recorded. */
export async function executeAlone(call: AloneCall): Promise<ToolResult> {
  const { registry, home } = call;
  // Callers without types may pass anything; a name that is not a string names no tool.
  const name = typeof call.name === 'string' ? call.name : String(call.name);
  const json = toJson(call.args);
  if (!json.ok) return { status: 'error', error: `Invalid arguments for '${name}': ${json.reason}` };
  const args = typeof json.value === 'string' && json.value.trim() === 'null' ? {} : (json.value ?? {});
  const request = { callId: 'c1', tool: name, args, unreadable: null, toolCallId: null };
  const granted = await grantedBy(registry, await home.permissions());
  const actor = createActor(machineFor(call), {
    input: {
      request: typeof args === 'string' ? withArguments({ request, spec: null }, args) : request,
      tools: registry.specs(granted).map(runByItself),
      verdict: 'clear',
      settings: home.settings(),
      caller: { ...NO_CALLER, recovery: registry.recovery() },
    },
  });
  const { signal } = call.io;
  const outcome = await new Promise<CallOutcome | { readonly failed: string } | null>((resolve) => {
    const end: typeof resolve = (value) => {
      signal?.removeEventListener('abort', stop);
      resolve(value);
    };
    const stop = (): void => {
      actor.stop();
      end(null);
    };
    actor.subscribe({
      next: (snapshot) => {
        if (snapshot.status === 'done') end(snapshot.output);
      },
      error: (thrown) => end({ failed: describeThrown(thrown).message }),
    });
    if (signal?.aborted === true) return stop();
    signal?.addEventListener('abort', stop);
    actor.start();
  });
  if (outcome === null) return { status: 'error', error: `Tool '${name}' was cancelled` };
  return 'failed' in outcome ? { status: 'error', error: `Tool execution failed: ${outcome.failed}` } : outcome.result;
}

/** Outside of a run no agent stands above: a child is run by its tool's own function. */
function runByItself(spec: ToolSpec): ToolSpec {
  return spec.origin.kind === 'agent' ? { ...spec, origin: { kind: 'local' } } : spec;
}

function machineFor({ registry, io, home }: AloneCall) {
  const { context } = io;
  return toolCallMachine.provide({
    actors: {
      callTool: callTool({
        local: (name) => {
          const tool = registry.find(name);
          return tool === undefined ? undefined : (args, execution) => tool.execute(args, { ...execution, context });
        },
        mcp: () => home.mcp,
      }),
      checkArgs: checkArgs({
        check: (name) => {
          const check = registry.find(name)?.check;
          return check === undefined ? undefined : (args, checking) => check(args, { ...checking, context });
        },
      }),
      askApproval: askApproval({ confirm: () => confirmWith(home, context) }),
      runFixer: runFixer({ slot: (name, slot) => registry.slot(name, slot) }),
      rememberPermission: rememberPermission({ add: async (spec) => keepGrant(await home.permissions(), spec) }),
    },
  });
}

/** Without a run there is no `approve`, so a call that would wait for it is denied. */
async function confirmWith(home: RegistryHome, context: unknown): Promise<Confirm | undefined> {
  const confirm = await home.confirm();
  return confirm === undefined || confirm === 'wait' ? undefined : (request) => confirm({ ...request, context });
}
