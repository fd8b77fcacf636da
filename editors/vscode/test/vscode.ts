// What the unit tests see of VS Code: notifications that they press, and settings.
export interface Notification {
  text: string;
  buttons: string[];
  /** Presses a button; without one, closes it. */
  press(button?: string): void;
}

export const notifications: Notification[] = [];
/** Commands of VS Code that were run. */
export const ran: string[] = [];
export const settings: Record<string, unknown> = {};

function show(text: string, ...buttons: string[]): Promise<string | undefined> {
  return new Promise((keep) => notifications.push({ text, buttons, press: keep }));
}

export const window = {
  showInformationMessage: show,
  showWarningMessage: show,
  showErrorMessage: show,
  withProgress: (_: unknown, work: () => unknown) => work(),
};
export const commands = { executeCommand: async (name: string) => void ran.push(name) };
export const workspace = {
  isTrusted: true,
  getConfiguration: () => ({
    get: (name: string, otherwise: unknown) => settings[name] ?? otherwise,
    inspect: (name: string) => ({ globalValue: settings[name] }),
  }),
};
export const env = { remoteName: undefined };
export const Uri = { joinPath: (_: unknown, name: string) => ({ fsPath: `/nowhere/${name}` }), file: (fsPath: string) => ({ fsPath }) };
export const ProgressLocation = { Window: 10 };
