/** What the panel's page becomes in a webview. */
export interface PageParts {
  /** The page as it was built: panel/dist/index.html. */
  html: string;
  /** Where the webview finds a file of the bundle. */
  address(file: string): string;
  /** Where the webview's own resources come from, for the policy. */
  source: string;
  nonce: string;
}

/** Puts the panel's page under a strict policy: one script, one style sheet, no network. */
export function webviewPage({ html, address, source, nonce }: PageParts): string {
  const policy =
    `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${source}; font-src ${source}; ` +
    `img-src ${source} data:; connect-src 'none'; base-uri 'none'; form-action 'none'`;
  return html
    .replace(/(src|href)="\.\/([\w.-]+)"/g, (_, name: string, file: string) => `${name}="${address(file)}"`)
    .replace(/<script\b/g, `<script nonce="${nonce}"`)
    .replace(/<head>/, `<head>\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />`);
}

/** What is shown where the panel was not packed into the extension. */
export const NO_PANEL =
  "<!doctype html><meta charset='utf-8'><p>The panel is missing from this extension. Run <code>npm run build</code> in " +
  "<code>panel</code>, then in <code>editors/vscode</code>.</p>";
