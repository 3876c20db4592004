import { DEFAULTS } from '../options/agent-settings.ts';
import { type ModelFacts, factsOf } from '../../actors/call-llm.ts';
import type { Model } from '../../actors/model.ts';
import { processEnvironment } from '../../models/endpoint/environment.ts';
import { resolveModel } from '../../models/chat/chat-model.ts';
import { checkConfigurable } from '../options/check-options.ts';
import { memoryPermissions, resolvePermissions } from '../tools/granted.ts';
import type { Permissions } from '../options/option-types.ts';
import { type TypedOutput, typedOutput } from '../options/output-options.ts';
import { type AgentOptions, checkOptions } from '../options/agent-options.ts';
import type { OwnRegistry } from '../tools/registry.ts';

/** What `agent.configure` changes: the options and what follows from them. */
export class Configured {
  readonly name: string;
  readonly models: Map<string, Model>;
  options: AgentOptions;
  model: Model;
  readonly output: TypedOutput | null;
  facts: ModelFacts;
  readonly read = (): AgentOptions => this.options;
  readonly #env = processEnvironment();
  #store: Promise<Permissions | undefined> | undefined;
  readonly #owners = new Map<string, Permissions>();

  constructor(given: AgentOptions) {
    this.name = given.name ?? 'agent';
    this.options = given;
    this.output = typedOutput('createAgent', given);
    this.model = resolveModel(given.model, this.#env);
    this.models = new Map(
      Object.entries(given.models ?? {}).map(([key, spec]) => [key, resolveModel(spec, this.#env)]),
    );
    this.facts = this.#factsNow();
  }

  modelNamed(asked: string): Model {
    const known = this.models.get(asked) ?? resolveModel(asked, this.#env);
    this.models.set(asked, known);
    return known;
  }

  permissions(): Promise<Permissions | undefined> {
    this.#store ??= resolvePermissions(this.options.permissions, this.name);
    return this.#store;
  }

  /** The store of a conversation's owner. Where the given one does not tell owners apart, what they say is kept in memory. */
  async permissionsOf(owner: string): Promise<Permissions | undefined> {
    const { permissions } = this.options;
    if (permissions === undefined || permissions.forAgent !== undefined)
      return resolvePermissions(permissions, `${this.name}/${owner}`);
    const kept = (): Permissions => this.#owners.get(owner) ?? memoryPermissions();
    // An owner who has allowed nothing is not kept.
    return {
      isAlwaysAllowed: (tool) => kept().isAlwaysAllowed(tool),
      add: (tool) => {
        this.#owners.set(owner, kept());
        return kept().add(tool);
      },
    };
  }

  configure(changes: AgentOptions, registry: OwnRegistry): void {
    checkConfigurable(changes);
    this.options = { ...this.options, ...checkOptions(changes, 'agent.configure') };
    if (changes.model !== undefined) {
      this.model = resolveModel(changes.model, this.#env);
      this.facts = this.#factsNow();
    }
    if (changes.defaultPolicy !== undefined) registry.setDefaultPolicy(changes.defaultPolicy);
    if (changes.permissions === undefined) return;
    this.#store = undefined;
    this.#owners.clear();
  }

  #factsNow(): ModelFacts {
    return factsOf(this.model, this.options.minContextSize ?? DEFAULTS.minContextSize);
  }
}
