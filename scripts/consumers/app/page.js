'use client';
// A page with an agent of its own, and a chat with the one that the server has.
import { useEffect, useState } from 'react';
import { createAgent } from 'signalbox';
import { chatTransport } from 'signalbox/ui';

const model = {
  complete: async () => ({ content: 'Answered on the page.', toolCalls: [] }),
};
const transport = chatTransport({ api: '/api/chat' });

export default function Page() {
  const [said, setSaid] = useState('nothing yet');
  useEffect(() => {
    const asked = async () => {
      const { result } = await createAgent({ model, silent: true }).run('Who answers?');
      const messages = await transport.messages('a chat');
      setSaid(`${result} The chat has ${messages.length} messages.`);
    };
    asked().catch((error) => setSaid(String(error)));
  }, []);
  return <p id="said">{said}</p>;
}
