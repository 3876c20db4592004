/** @jsxImportSource react */
// The page: the same agent three times, by the query `show`.
import { HttpAgent, type RunAgentParameters } from '@ag-ui/client';
import { useChat } from '@ai-sdk/react';
import { type UIMessage, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { StrictMode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { runStore, useRun } from 'signalbox/react';
import { chatTransport } from 'signalbox/ui';
import type { agent } from './agent.ts';

const query = new URLSearchParams(location.search);
const chatId = query.get('id') ?? 'first';

/** Says what was typed, and forgets it. */
function Say({ label, onSay }: { readonly label: string; readonly onSay: (text: string) => unknown }) {
  const [text, setText] = useState('');
  const say = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    if (text.trim() === '') return;
    onSay(text);
    setText('');
  };
  return (
    <form onSubmit={say}>
      <input aria-label={label} value={text} onChange={({ target }) => setText(target.value)} />
      <button>{label}</button>
    </form>
  );
}

const store = runStore<typeof agent>(`/api/run?id=${chatId}`);

/** Renders only when the machine has moved. */
function Where() {
  const where = useRun(store, ({ status, state, step, limit }) => ({ status, state, step, limit }));
  return (
    <output aria-label="where">{`${where.status} · ${where.state} · step ${where.step} of ${where.limit}`}</output>
  );
}

/** `useRun`: what the model says, its calls, what waits for a person, and where the machine is. */
function RunChat() {
  const { messages, pending, error, send, steer, stop, approve, reject } = useRun(store);
  return (
    <>
      <Where />
      {messages.map(({ id, role, text, calls }) => (
        <section key={id} aria-label={role}>
          <p>{text}</p>
          {calls.map((call) => (
            <code key={call.callId}>{`${call.tool} ${JSON.stringify(call.args)}: ${call.status}`}</code>
          ))}
        </section>
      ))}
      {pending.map(({ callId, tool, args }) => (
        <fieldset key={callId} aria-label="approval">
          <legend>{`${tool} ${JSON.stringify(args)}`}</legend>
          <button onClick={() => approve(callId)}>Approve</button>
          {tool === 'refund' && (
            <button onClick={() => approve(callId, { ...args, euros: 10 })}>Approve 10 euros</button>
          )}
          <button onClick={() => reject(callId, 'Not today.')}>Reject</button>
        </fieldset>
      ))}
      {error !== null && <p role="alert">{error.message}</p>}
      <Say label="Send" onSay={send} />
      <Say label="Steer" onSay={steer} />
      <button onClick={() => stop()}>Stop</button>
    </>
  );
}

const transport = chatTransport({ api: '/api/chat' });

/** `useChat` of the AI SDK, with what was said before the page was loaded. */
function SdkChat() {
  const [earlier, setEarlier] = useState<UIMessage[] | string>('Loading …');
  useEffect(() => {
    transport.messages<UIMessage>(chatId).then(setEarlier, ({ message }: Error) => setEarlier(message));
  }, []);
  return typeof earlier === 'string' ? <p role="status">{earlier}</p> : <SdkTalk earlier={earlier} />;
}

function SdkTalk({ earlier }: { readonly earlier: UIMessage[] }) {
  const { messages, status, error, sendMessage, addToolApprovalResponse } = useChat({
    id: chatId,
    transport,
    messages: earlier,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const [refused, setRefused] = useState<string | null>(null);
  const tell = (told: Promise<unknown>): unknown =>
    told.then(() => setRefused(null)).catch(({ message }: Error) => setRefused(message));
  // The AI SDK sends no answer that is given while it reads a stream, as it does after a reload.
  const isBusy = status === 'streaming' || status === 'submitted';
  // A message would be refused, and stand behind the question: the AI SDK sends no answer then.
  const isAsked = messages.at(-1)?.parts.some((part) => 'state' in part && part.state === 'approval-requested');
  return (
    <>
      <output aria-label="where">{status}</output>
      {messages.map(({ id, role, parts }) => (
        <section key={id} aria-label={role}>
          {parts.map((part, index) => {
            if (part.type === 'text') return <p key={index}>{part.text}</p>;
            if (!('state' in part) || !('toolCallId' in part)) return null;
            const asked = part.state === 'approval-requested' ? part.approval.id : null;
            return (
              <fieldset key={part.toolCallId} aria-label="call">
                <legend>{`${JSON.stringify(part.input)}: ${part.state}`}</legend>
                {asked !== null && (
                  <>
                    <button disabled={isBusy} onClick={() => addToolApprovalResponse({ id: asked, approved: true })}>
                      Approve
                    </button>
                    <button disabled={isBusy} onClick={() => addToolApprovalResponse({ id: asked, approved: false })}>
                      Reject
                    </button>
                  </>
                )}
              </fieldset>
            );
          })}
        </section>
      ))}
      {error !== undefined && <p role="alert">{error.message}</p>}
      {refused !== null && <p role="alert">{refused}</p>}
      {isAsked !== true && <Say label="Send" onSay={(text) => sendMessage({ text })} />}
      <Say label="Steer" onSay={(text) => tell(transport.steer(chatId, text))} />
      <button onClick={() => tell(transport.stop(chatId))}>Stop</button>
    </>
  );
}

const client = new HttpAgent({ url: '/api/ag-ui', threadId: chatId });
let last: Promise<void> | null = null;

/** A client of AG-UI. Asked without a message, the server sends what was said before the page was loaded. */
function AgChat() {
  const [messages, setMessages] = useState(client.messages);
  const [asked, setAsked] = useState(client.pendingInterrupts);
  const [error, setError] = useState<string | null>(null);
  const run = async (options?: RunAgentParameters): Promise<void> => {
    setError(null);
    await client.runAgent(options).catch(({ message }: Error) => setError(message));
    setAsked([...client.pendingInterrupts]);
  };
  useEffect(() => {
    const { unsubscribe } = client.subscribe({
      onMessagesChanged: () => setMessages([...client.messages]),
      onRunErrorEvent: ({ event }) => setError(event.message),
    });
    last ??= run();
    return unsubscribe;
  }, []);
  const send = (content: string): void => {
    // The end of a run sets the client's messages: one that is added before it would be lost.
    last = Promise.resolve(last).then(() => {
      client.addMessage({ id: crypto.randomUUID(), role: 'user', content });
      return run();
    });
  };
  // A resume answers all of them.
  const answer = (approved: boolean): Promise<void> =>
    run({ resume: asked.map(({ id }) => ({ interruptId: id, status: 'resolved' as const, payload: { approved } })) });
  return (
    <>
      {messages.map((message) => (
        <section key={message.id} aria-label={message.role}>
          {typeof message.content === 'string' && <p>{message.content}</p>}
          {message.role === 'assistant' &&
            message.toolCalls?.map(({ id, function: call }) => (
              <code key={id}>{`${call.name} ${call.arguments}`}</code>
            ))}
        </section>
      ))}
      {error !== null && <p role="alert">{error}</p>}
      {asked.length === 0 ? (
        <Say label="Send" onSay={send} />
      ) : (
        <fieldset aria-label="approval">
          <legend>{asked.map(({ message }) => message).join('\n')}</legend>
          <button onClick={() => answer(true)}>Approve</button>
          <button onClick={() => answer(false)}>Reject</button>
        </fieldset>
      )}
    </>
  );
}

const shown = { run: RunChat, sdk: SdkChat, ag: AgChat };
const { [query.get('show') ?? 'run']: Chat = RunChat }: Readonly<Record<string, () => React.ReactNode>> = shown;
const main = document.querySelector('main');
if (main !== null)
  createRoot(main).render(
    <StrictMode>
      <Chat />
    </StrictMode>,
  );
