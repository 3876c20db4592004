import { isList } from '../../../../json/depth.ts';
import { useMemo, useState } from 'preact/hooks';
import { type Json, isJsonObject } from '../../../../json/json.ts';
import { type RecordedExchange, exchangesOf } from '../../model/talk.ts';
import { escapedLine } from '../../model/escaped-text.ts';
import { durationText } from '../../model/time-scale.ts';
import { usePage } from '../../state/page-state.ts';
import { Empty } from '../parts/StepDetails.tsx';
import { EscapedText, JsonTree, Payload } from '../parts/Values.tsx';
import { VirtualList } from '../parts/VirtualList.tsx';

/** What crossed the boundary, as it was: requests to the model and to tools, and what they gave. */
export function ExchangesTab() {
  const { state } = usePage();
  const session = state.session.value;
  const revision = state.slowRevision.value;
  const exchanges = useMemo(() => exchangesOf(session?.records ?? []), [session, revision]);
  const entry = session?.steps[state.position.value]?.entry ?? null;
  if (exchanges.length === 0) return <Empty why="Nothing is recorded of this." />;
  const at = exchanges.findIndex(({ settled }) => settled === entry);
  return (
    <VirtualList
      items={exchanges}
      estimate={33}
      measured
      label="Requests and replies"
      reveal={at < 0 ? null : at}
      render={(exchange: RecordedExchange, index) => (
        <ExchangeView key={exchange.id} exchange={exchange} open={index === at} />
      )}
    />
  );
}

function ExchangeView({ exchange, open }: { readonly exchange: RecordedExchange; readonly open: boolean }) {
  const { name, id, at, durationMs, outcome } = exchange;
  const [isOpen, setOpen] = useState(open);
  const request = useMemo(() => (isOpen ? exchange.request() : null), [isOpen, id]);
  return (
    <details class="exchange" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <b class={outcome === null ? 'wait' : outcome.ok ? '' : 'danger'}>{escapedLine(name, 40)}</b>
        <span class="dim">{escapedLine(id, 60)}</span>
        <span class="spring" />
        <span class="dim">
          {durationText(at)} {durationMs === null ? '· open' : `+ ${durationText(durationMs)}`}
        </span>
      </summary>
      {isOpen && (
        <Payload name="request">
          <Messages request={request} />
          <JsonTree value={request} open={1} />
        </Payload>
      )}
      {isOpen && outcome !== null && (
        <Payload name={outcome.ok ? 'reply' : 'failure'}>
          <JsonTree value={outcome.value} open={2} />
        </Payload>
      )}
    </details>
  );
}

const LATEST = 40;
const EARLIER = 400;

/** A model request's messages, as a conversation, the latest of them: the rest of the request is the tree below. */
function Messages({ request }: { readonly request: Json }) {
  const inner: Json = isJsonObject(request) && isJsonObject(request.request) ? request.request : request;
  const messages: Json = isJsonObject(inner) ? (inner.messages ?? null) : null;
  const [shown, show] = useState(LATEST);
  if (!isList(messages)) return null;
  const left = Math.max(0, messages.length - shown);
  return (
    <>
      {left > 0 && (
        <button type="button" class="more" onClick={() => show(shown + EARLIER)}>
          show earlier messages ({left})
        </button>
      )}
      {messages.slice(left).map((message, index) =>
        isJsonObject(message) ? (
          <div key={left + index}>
            <span class="message-role">{escapedLine(typeof message.role === 'string' ? message.role : '', 20)}</span>{' '}
            <MessageContent content={message.content ?? ''} />
          </div>
        ) : null,
      )}
    </>
  );
}

/** Text, and images that the message carries itself: the page loads nothing from elsewhere. */
function MessageContent({ content }: { readonly content: Json }) {
  return (
    <>
      {(isList(content) ? content : [content]).map((part, index) => {
        const { type, url } = isJsonObject(part) ? part : {};
        return type === 'image' && typeof url === 'string' && url.startsWith('data:image/') ? (
          <img key={index} class="message-image" src={url} alt="image sent to the model" />
        ) : (
          <EscapedText key={index} class="mono" text={partText(part)} most={400} />
        );
      })}
    </>
  );
}

function partText(part: Json): string {
  if (typeof part === 'string') return part;
  const { type, text, url, mediaType, filename } = isJsonObject(part) ? part : {};
  if (type === 'image' && typeof url === 'string') return `[image at ${url}]`;
  if (type !== 'file' || typeof url !== 'string') return typeof text === 'string' ? text : JSON.stringify(part);
  const name = [filename, mediaType].filter((word) => typeof word === 'string').join(', ');
  const place = url.startsWith('data:') ? `${Math.ceil(url.length / 1365)} kB` : `at ${url}`;
  return `[file ${name}, ${place}]`;
}
