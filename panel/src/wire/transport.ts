/** How the panel and the daemon reach each other. Two ways: a WebSocket of the page, or a VS Code extension that owns it. */
export interface Transport {
  /** Begins to connect, and connects again whenever the connection is lost. */
  start(listener: TransportListener): void;
  /** Sends a text frame. False if there is no connection. */
  send(text: string): boolean;
  /** Tries again now, without the pause. */
  retry(): void;
  /** Opens things in the editor around the panel; undefined where there is none. */
  readonly editor: Editor | undefined;
}

/** What a transport tells. */
export interface TransportListener {
  /** The connection stands; nothing has been sent on it. */
  opened(): void;
  /** A text frame came. */
  received(text: string): void;
  /** There is no connection. */
  closed(state: Closed): void;
  /** The editor around the panel wants something shown. */
  wished(wish: Wish): void;
}

/** What an editor wants shown: a run, or the settings. */
export type Wish = { show: string } | "settings";

/** Why there is no connection, and what happens next. */
export interface Closed {
  /** Where it was looked for. */
  address: string;
  /** Whether something answered there and refused, rather than nothing being there. */
  refused: boolean;
  /** When it is tried again, in milliseconds since 1970; null while it is being tried. */
  retryAt: number | null;
}

/** The editor around a panel. */
export interface Editor {
  /** Shows a file of the workspace at a line. */
  openFile(workspace: string, path: string, line: number): void;
  /** Shows a file of a run before and after, side by side. */
  openDiff(run: string, path: string): void;
}
