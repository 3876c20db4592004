// What is used of the package `ws`, which brings no types of its own.
declare module 'ws' {
  import type { EventEmitter } from 'node:events';
  import type { IncomingMessage } from 'node:http';
  import type { Duplex } from 'node:stream';

  export interface WebSocket extends EventEmitter {
    readonly readyState: number;
    readonly OPEN: number;
    readonly bufferedAmount: number;
    on(event: 'message', listener: (data: Buffer | ArrayBuffer | Buffer[], isBinary: boolean) => void): this;
    on(event: 'close', listener: (code: number) => void): this;
    on(event: 'error', listener: (error: Error) => void): this;
    send(text: string): void;
    pause(): void;
    resume(): void;
    close(code: number, reason: string): void;
    terminate(): void;
  }

  export class WebSocketServer {
    constructor(options: {
      readonly noServer: true;
      readonly clientTracking: boolean;
      readonly maxPayload: number;
      readonly perMessageDeflate: boolean;
    });
    handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, done: (client: WebSocket) => void): void;
  }
}
