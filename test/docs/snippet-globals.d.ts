// What the code blocks of the documents may use without saying where it comes from.
declare const agent: import('signalbox').Agent;
declare const run: import('signalbox').Run;
declare const result: import('signalbox').RunResult;
declare const model: import('signalbox').Model;
declare const weather: import('signalbox').Tool;
declare const lookUp: import('signalbox').Tool;
declare const deleteAll: import('signalbox').Tool;
declare const buy: import('signalbox').Tool;
declare const recording: string;
declare function askInBrowser(userId: string): import('signalbox').Confirm;
declare const search: import('signalbox').Tool;
declare const researcher: import('signalbox').Agent;
declare function showForm(form: {
  readonly title: string;
  readonly schema: object;
  readonly signal: AbortSignal;
}): Promise<Readonly<Record<string, string>> | null>;
declare const runId: string;
declare function showLink(server: string, url: string, scopes: readonly string[]): void;
declare function currentToken(): Promise<string>;
