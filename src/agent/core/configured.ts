import { DEFAULTS, toolCallingOf } from '../options/agent-settings.ts';
import { type ModelFacts, callsNatively, factsOf } from '../../actors/call-llm.ts';
import type { RankedModel } from '../../machines/contract/agent-setup.ts';
import { type Model, ModelError } from '../../actors/model.ts';
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
  /** More models, by name. */
  readonly models: Map<string, Model>;
  options: AgentOptions;
  /** The models that are asked one after the other; the first is the agent's own. */
  listed: readonly [Model, ...Model[]];
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
    this.listed = this.#listedOf(given.model);
    this.models = new Map(
      Object.entries(given.models ?? {}).map(([key, spec]) => [key, resolveModel(spec, this.#env)]),
    );
    this.facts = this.#factsNow();
  }

  get model(): Model {
    return this.listed[0];
  }

  /** The model at a place of the list. A run that was recorded may know more of them than there are now. */
  modelAt(at: number): Model {
    const model = this.listed[at];
    if (model === undefined) throw new ModelError('no-model', `The agent '${this.name}' has no ${at + 1} models.`);
    return model;
  }

  /** True where at least one takes a schema and tools in one request; the others are sent the tools alone. */
  get takesSchemaWithTools(): boolean {
    return this.listed.some(({ takesSchemaWithTools }) => takesSchemaWithTools === true);
  }

  /** What a run is told of several models. */
  listedModels(): readonly RankedModel[] {
    return this.listed.map((model, index) => {
      const { id = '', takesImages = false, takesFiles, takesSchemaWithTools = false, contextSize } = model;
      return {
        name: id === '' ? `model ${index + 1}` : id,
        toolCalling: toolCallingOf(this.options, model),
        callsNatively: callsNatively(model),
        takesImages,
        ...(takesFiles === true ? { takesFiles } : {}),
        takesSchemaWithTools,
        ...(contextSize === undefined ? {} : { contextSize }),
      };
    });
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
    if (permissions === undefined || permissions.forAgent !== undefined) {
      // The agent's own comes first: a store takes the first name that it is asked for as its own.
      const own = await this.permissions();
      const ofOwner = await resolvePermissions(permissions, `${this.name}/${owner}`);
      // One that is bound to a name of its own is the same for everybody.
      if (ofOwner !== own || own === undefined) return ofOwner;
    }
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
      this.listed = this.#listedOf(changes.model);
      this.facts = this.#factsNow();
    }
    if (changes.defaultPolicy !== undefined) registry.setDefaultPolicy(changes.defaultPolicy);
    if (changes.permissions === undefined) return;
    this.#store = undefined;
    this.#owners.clear();
  }

  #listedOf(given: AgentOptions['model']): readonly [Model, ...Model[]] {
    const [first, ...others] = isList(given) ? given : [given];
    return [resolveModel(first, this.#env), ...others.map((one) => resolveModel(one, this.#env))];
  }

  #factsNow(): ModelFacts {
    const least = this.options.minContextSize ?? DEFAULTS.minContextSize;
    const facts = this.listed.map((model) => factsOf(model, least));
    return {
      look() {
        for (const one of facts) one.look();
      },
      atStart: () => facts.flatMap((one) => one.atStart()),
      sinceThen: () => facts.flatMap((one) => one.sinceThen()),
    };
  }
}

function isList<T>(given: T | readonly T[]): given is readonly T[] {
  return Array.isArray(given);
}
