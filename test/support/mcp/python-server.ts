/** An MCP server over stdio that writes what servers made with the SDKs of Python and Ruby write, byte for byte but for the image. */
import { createInterface } from 'node:readline';
import { isJsonObject } from '../../../src/json/json.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR4nGMQVDImCTGMahjVMHw1AAAaNGYB4V8qqwAAAABJRU5ErkJggg==';
const IMAGE = `{"type":"image","data":"${PNG}","mimeType":"image/png"}`;
const ANY = '"inputSchema":{"properties":{},"type":"object"}';
const INTEGER = '"outputSchema":{"properties":{"result":{"type":"integer"}},"required":["result"],"type":"object"}';

/** Results of tools by name. */
const RESULTS: Readonly<Record<string, string>> = {
  row: String.raw`{"content":[{"type":"text","text":"{\n  \"id\": 1234567890123456789,\n  \"next\": 1234567890123456790,\n  \"name\": \"1234567890123456789\",\n  \"share\": 0.12345678901234568\n}"}],"structuredContent":{"id":1234567890123456789,"next":1234567890123456790,"name":"1234567890123456789","share":0.12345678901234568},"isError":false}`,
  count:
    '{"content":[{"type":"text","text":"9223372036854775809"}],"structuredContent":{"result":9223372036854775809},"isError":false}',
  plain: '{"content":[{"type":"text","text":"8"}],"structuredContent":{"result":8},"isError":false}',
  shot: `{"content":[${IMAGE}],"structuredContent":{"type":"image","data":"${PNG}","mimeType":"image/png","annotations":null,"_meta":null},"isError":false}`,
  shots: `{"content":[${IMAGE},{"type":"text","text":"caption"}],"structuredContent":{"result":[{"type":"image","data":"${PNG}","mimeType":"image/png","annotations":null,"_meta":null},{"type":"text","text":"caption","annotations":null,"_meta":null}]},"isError":false}`,
  jpg: '{"content":[{"type":"image","data":"/9j/4DAwMDAwMDAwMDAwMDAwMDAwMDAw","mimeType":"image/jpg"}],"isError":false}',
  bar: '{"content":[{"type":"text","text":"done"}],"isError":false}',
};
/** Of `def find(query: str, lang: str = None, limit=10, page: int = 1, more: More = None, column: Column)`. */
const FIND =
  '{"name":"find","description":"","inputSchema":{"$defs":{"More":{"properties":{"deep":{"title":"Deep","type":"boolean"}},"required":["deep"],"title":"More","type":"object"}},"properties":{"query":{"title":"Query","type":"string"},"lang":{"default":null,"title":"Lang","type":"string"},"limit":{"default":10,"title":"limit","type":"string"},"page":{"default":1,"title":"Page","type":"integer"},"more":{"$ref":"#/$defs/More","default":null},"column":{"type":"object","properties":{"default":{"type":"string"},"const":{"type":"boolean"}}}},"required":["query"],"title":"findArguments","type":"object"}}';
const [SILENT, RAISES] = ['silent', 'raises'];

function write(id: unknown, member: string): void {
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${member}}\n`);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message: unknown = JSON.parse(line);
  const { id, method, params } = isJsonObject(message) ? message : {};
  const { name, requestId, arguments: args } = isJsonObject(params) ? params : {};
  if (method === 'notifications/cancelled') write(requestId, '"error":{"code":0,"message":"Request cancelled"}');
  if (method === 'initialize')
    write(
      id,
      '"result":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{},"tools":{"listChanged":false}},"serverInfo":{"name":"shop","version":"1.28.1"}}',
    );
  if (method === 'ping') write(id, '"result":{}');
  if (method === 'tools/list') {
    const tools = [...Object.keys(RESULTS), SILENT, RAISES].map(
      (tool) => `{"name":"${tool}","description":"",${ANY}${['count', 'plain'].includes(tool) ? `,${INTEGER}` : ''}}`,
    );
    write(id, `"result":{"tools":[${[FIND, ...tools].join(',')}]}`);
  }
  if (method !== 'tools/call' || name === SILENT) return;
  if (name === 'find') return write(id, `"result":{"structuredContent":${JSON.stringify(args)}}`);
  // The Ruby SDK.
  if (name === RAISES) return write(id, '"error":{"code":-32603,"message":"Internal error","data":"boom in raises."}');
  // A progress bar, and a log of what it was sent.
  if (name === 'bar')
    process.stdout.write(`received {"jsonrpc":"2.0","id":${String(id)},"method":"ping"}\n50% .. 100%`);
  write(id, `"result":${RESULTS[String(name)] ?? '{}'}`);
});
