import type { Closed, Editor, Transport, TransportListener } from "./transport.ts";

/** What VS Code gives a webview. */
export interface VsCodeApi {
  postMessage(message: ToHost): void;
}

/** What the panel posts to the extension. */
export type ToHost =
  | { panel: "ready" }
  | { panel: "retry" }
  | { panel: "send"; text: string }
  | { panel: "open_file"; workspace: string; path: string; line: number }
  | { panel: "open_diff"; run: string; path: string };

/** What the extension posts to the panel. */
export type FromHost =
  | { host: "opened" }
  | { host: "frame"; text: string }
  | ({ host: "closed" } & Closed)
  | { host: "show"; run: string }
  | { host: "settings" };

/** A webview of VS Code: the extension owns the WebSocket, and frames pass through it as they are. */
export class VsCodeTransport implements Transport {
  private open = false;
  readonly editor: Editor;

  constructor(private readonly api: VsCodeApi) {
    this.editor = {
      openFile: (workspace, path, line) => api.postMessage({ panel: "open_file", workspace, path, line }),
      openDiff: (run, path) => api.postMessage({ panel: "open_diff", run, path }),
    };
  }

  start(listener: TransportListener): void {
    addEventListener("message", ({ data }: MessageEvent<FromHost>) => {
      if (typeof data !== "object" || data === null) return;
      if (data.host === "opened") {
        this.open = true;
        listener.opened();
      } else if (data.host === "frame") {
        listener.received(data.text);
      } else if (data.host === "closed") {
        this.open = false;
        listener.closed(data);
      } else if (data.host === "show") {
        listener.wished({ show: data.run });
      } else if (data.host === "settings") {
        listener.wished("settings");
      }
    });
    this.api.postMessage({ panel: "ready" });
  }

  send(text: string): boolean {
    if (this.open) this.api.postMessage({ panel: "send", text });
    return this.open;
  }

  retry(): void {
    this.api.postMessage({ panel: "retry" });
  }
}

declare global {
  var acquireVsCodeApi: (() => VsCodeApi) | undefined;
}
