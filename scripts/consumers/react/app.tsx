// A page that shows an agent by useActor. It can be left while a payment waits for its approval, and come back to.
import { useActor } from '@xstate/react';
import { StrictMode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createAgent, tool, type AgentPath, type PendingApproval } from 'signalbox';
import { memoryJournal } from 'signalbox/journal';
import { chatModel } from 'signalbox/models';
import type { Snapshot } from 'xstate';

/** What the check looks at beside the page: effects of the component, payments made, and the states that were rendered. */
const seen = { starts: 0, payments: 0, states: new Set<AgentPath>() };
const agent = createAgent({
  model: chatModel({ baseURL: `${location.origin}/v1`, model: 'scripted', apiKey: 'none' }),
  tools: [tool({ name: 'pay', description: 'Pays.', policy: 'confirm', execute: () => `payment ${++seen.payments}` })],
  confirm: 'wait',
  journal: memoryJournal(),
  silent: true,
});
Object.assign(globalThis, { seen, agent });

interface PaymentProps {
  readonly snapshot: Snapshot<unknown> | undefined;
  readonly onLeave: (snapshot: Snapshot<unknown>) => void;
}

function Payment({ snapshot, onLeave }: PaymentProps) {
  const input = { task: 'Pay the bill.' };
  const [run, send, actor] = useActor(agent.logic, snapshot === undefined ? { input } : { input, snapshot });
  useEffect(() => {
    seen.starts += 1;
  }, []);
  const pending: readonly PendingApproval[] = run.pending;
  const state: AgentPath = run.value;
  seen.states.add(state);
  return (
    <main>
      <p id="state">{state}</p>
      <p id="run">{run.runId}</p>
      <p id="step">{run.step}</p>
      {pending.map(({ callId, tool: name }) => (
        <p key={callId} className="pending">
          {name}
          <button id="send" onClick={() => send({ type: 'approval.given', callId })} />
          <button id="refuse" onClick={() => send({ type: 'approval.refused', callId, reason: 'too much' })} />
          <button id="handle" onClick={() => void run.run?.approve(callId)} />
        </p>
      ))}
      {run.status === 'done' && <p id="answer">{run.output.result}</p>}
      <button id="leave" onClick={() => onLeave(actor.getPersistedSnapshot())} />
    </main>
  );
}

function App() {
  const [left, leave] = useState<Snapshot<unknown>>();
  const [isHere, setHere] = useState(true);
  const onLeave = (snapshot: Snapshot<unknown>) => {
    leave(snapshot);
    setHere(false);
  };
  return isHere ? <Payment snapshot={left} onLeave={onLeave} /> : <button id="back" onClick={() => setHere(true)} />;
}

const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
