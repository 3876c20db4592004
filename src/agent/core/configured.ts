import { DEFAULTS, settingsOf, toolCallingOf } from '../options/agent-settings.ts';
import { type ModelFacts, callsNatively, factsOf } from '../../actors/call-llm.ts';
import type { AgentSetup, ChildSetup, RankedModel, Toolset } from '../../machines/contract/agent-setup.ts';
import type { Model } from '../../actors/model.ts';
import { processEnvironment } from '../../models/endpoint/environment.ts';
import { resolveModel } from '../../models/chat/chat-model.ts';
import { checkConfigurable } from '../options/check-options.ts';
import { isHomeReplaced, memoryPermissions, resolvePermissions } from '../tools/granted.ts';
import type { Permissions } from '../options/option-types.ts';
import { type TypedOutput, typedOutput } from '../options/output-options.ts';
import { type AgentOptions, checkOptions } from '../options/agent-options.ts';

/** What differs from run to run. */
export interface SetupParts {
  /** What was found out about the model. */
  readonly told: readonly string[];
  readonly below: readonly ChildSetup[];
  readonly maxSteps?: number | undefined;
  /** What the answer of this run must be, instead of the agent's. */
  readonly output?: TypedOutput | null | undefined;
}

/** What `agent.configure` changes: the options and what follows from them. */
export class Configured {
  readonly name: string;
  options: AgentOptions;
  /** The models that are asked one after the other; the first is the agent's own. */
  listed: readonly [Model, ...Model[]];
  readonly output: TypedOutput | null;
  /** More models, by name; null where there is none. */
  #models: Map<string, Model> | null = null;
  #facts: ModelFacts | null = null;
  #store: Promise<Permissions | undefined> | undefined;
  #owners: Map<string, Permissions> | null = null;

  constructor(given: AgentOptions) {
    this.name = given.name ?? 'agent';
    this.options = given;
    this.output = typedOutput('createAgent', given);
    this.listed = this.#listedOf(given.model);
    for (const [key, spec] of Object.entries(given.models ?? {}))
      this.#keep(key, resolveModel(spec, processEnvironment()));
  }

  get models(): ReadonlyMap<string, Model> {
    return this.#models ?? NO_MODELS;
  }

  get facts(): ModelFacts {
    return (this.#facts ??= this.#factsNow());
  }

  get model(): Model {
    return this.listed[0];
  }

  /** A recorded run may know other models than there are now, and in another order. */
  modelAt({ at, name }: { readonly at: number; readonly name: string }): Model {
    const there = this.listed[at];
    return (there?.id === name ? there : this.listed.find(({ id }) => id === name)) ?? there ?? this.model;
  }

  /** True where at least one takes a schema and tools in one request; the others are sent the tools alone. */
  get besideTools(): boolean {
    return this.listed.some(({ takesSchemaWithTools }) => takesSchemaWithTools === true);
  }

  /** What a run knows about several models. */
  #listedModels(): readonly RankedModel[] {
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
    return this.models.get(asked) ?? this.#keep(asked, resolveModel(asked, processEnvironment()));
  }

  /** Where "always allow" is kept, of the agent or of a conversation's owner. */
  permissions(owner?: string): Promise<Permissions | undefined> {
    if (owner !== undefined) return this.#permissionsOf(owner);
    const { permissions } = this.options;
    if (permissions === undefined && isHomeReplaced()) return resolvePermissions(permissions, this.name);
    // A store that could not be had is asked for again.
    return (this.#store ??= resolvePermissions(permissions, this.name).catch((error: unknown) => {
      this.#store = undefined;
      throw error;
    }));
  }

  /** The store of a conversation's owner. If the given store does not distinguish owners, their decisions are kept in memory. */
  async #permissionsOf(owner: string): Promise<Permissions | undefined> {
    const { permissions } = this.options;
    if (permissions === undefined || permissions.forAgent !== undefined) {
      // The agent's own comes first: a store takes the first name that it is asked for as its own.
      const own = await this.permissions();
      const ofOwner = await resolvePermissions(permissions, `${this.name}/${owner}`);
      // One that is bound to its own name is shared by all.
      if (ofOwner !== own || own === undefined) return ofOwner;
    }
    const kept = (): Permissions => this.#owners?.get(owner) ?? memoryPermissions();
    // An owner who has allowed nothing is not kept.
    return {
      isAlwaysAllowed: (tool) => kept().isAlwaysAllowed(tool),
      add: (tool) => {
        (this.#owners ??= new Map()).set(owner, kept());
        return kept().add(tool);
      },
    };
  }

  configure(changes: AgentOptions): void {
    checkConfigurable(changes);
    this.options = { ...this.options, ...checkOptions(changes, 'agent.configure') };
    if (changes.model !== undefined) {
      this.listed = this.#listedOf(changes.model);
      this.#facts = null;
    }
    if (changes.permissions === undefined) return;
    this.#store = undefined;
    this.#owners = null;
  }

  /** What a run would start with now. */
  setupFor(parts: SetupParts, toolset: Toolset, warnings: readonly string[]): AgentSetup {
    const { options, model, listed, name } = this;
    const settings = settingsOf(options);
    const output = parts.output ?? this.output;
    const { instructions = '', seed = Math.floor(Math.random() * 2 ** 31) } = options;
    return {
      agent: name,
      ...(options.version === undefined ? {} : { version: options.version }),
      instructions: typeof instructions === 'string' ? instructions : '',
      promptByCode: typeof instructions === 'function' || options.systemPrompt !== undefined,
      toolset,
      toolCalling: toolCallingOf(options, model),
      callsNatively: listed.length === 1 && callsNatively(model),
      settings: {
        ...settings,
        maxSteps: parts.maxSteps ?? settings.maxSteps,
        jitterSeed: seed,
        images: listed.some(({ takesImages }) => takesImages === true) ? 'sent' : 'named',
        ...(listed.some(({ takesFiles }) => takesFiles === true) ? { files: 'sent' } : {}),
      },
      seed,
      warnings: [...warnings, ...parts.told],
      children: parts.below,
      escalates: options.onEscalation !== undefined,
      ...(output === null ? {} : { output: output.spec(this.besideTools) }),
      ...(listed.length === 1 ? {} : { models: this.#listedModels() }),
    };
  }

  #keep(name: string, model: Model): Model {
    (this.#models ??= new Map()).set(name, model);
    return model;
  }

  #listedOf(given: AgentOptions['model']): readonly [Model, ...Model[]] {
    const [first, ...others] = isList(given) ? given : [given];
    return [resolveModel(first, processEnvironment()), ...others.map((one) => resolveModel(one, processEnvironment()))];
  }

  #factsNow(): ModelFacts {
    const least = this.options.minContextSize ?? DEFAULTS.minContextSize;
    const facts = this.listed.map((model) => factsOf(model, least));
    const [only, ...others] = facts;
    if (only !== undefined && others.length === 0) return only;
    return {
      look() {
        for (const one of facts) one.look();
      },
      atStart: () => facts.flatMap((one) => one.atStart()),
      sinceThen: () => facts.flatMap((one) => one.sinceThen()),
    };
  }
}

const NO_MODELS: ReadonlyMap<string, Model> = new Map();

function isList<T>(given: T | readonly T[]): given is readonly T[] {
  return Array.isArray(given);
}
