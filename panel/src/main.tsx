import { render } from "preact";
import { Panel } from "./app/panel.ts";
import { App } from "./view/app.tsx";
import { daemonAddress, SocketTransport } from "./wire/socket.ts";
import { takeToken } from "./wire/token.ts";
import { VsCodeTransport } from "./wire/vscode.ts";

const transport =
  typeof acquireVsCodeApi === "function"
    ? new VsCodeTransport(acquireVsCodeApi())
    : new SocketTransport(daemonAddress(location), takeToken());
const panel = new Panel(transport);
const root = document.getElementById("panel");
if (root !== null) render(<App panel={panel} />, root);
panel.start();
