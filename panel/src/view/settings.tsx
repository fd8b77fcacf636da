import { useEffect, useRef } from "preact/hooks";
import type { Configuration } from "../app/state.ts";
import { visible } from "../text/visible.ts";
import type { ConfigurationValue } from "../wire/protocol.ts";
import { usePanel } from "./context.ts";
import { Confirm } from "./dialog.tsx";
import { Rich } from "./text.tsx";

/** The workspace's configuration: its text, what is wrong with it, and what it comes to. */
export function Settings({ configuration, asked, online }: { configuration: Configuration; asked: boolean; online: boolean }) {
  const panel = usePanel();
  const area = useRef<HTMLTextAreaElement>(null);
  const { told, draft, file, phase, conflict, saved } = configuration;
  const loading = phase === "loading";
  useEffect(() => area.current?.focus(), [loading]);
  const changed = draft !== (file ?? "");
  const errors = told?.errors ?? [];
  const warnings = told?.warnings ?? [];
  const savable = online && changed && conflict === null && errors.length === 0 && phase !== "saving" && !loading;
  return (
    <>
      <header class="settings-head">
        <div>
          <h2>Settings</h2>
          <p class="muted mono path">{visible(told?.path ?? configuration.workspace)}</p>
        </div>
        <div class="buttons">
          <button type="button" class={asked ? undefined : "primary"} disabled={!savable} onClick={() => void panel.configuration.save()}>
            Save
          </button>
          <button type="button" onClick={() => panel.configuration.leave(() => {})}>
            Close
          </button>
        </div>
      </header>
      {conflict !== null && (
        <div class="conflict" role="alert">
          <p>
            <strong>The file was changed by somebody else in the meantime.</strong> Nothing was written.
          </p>
          <div class="buttons">
            <button type="button" onClick={() => panel.configuration.settle("file")}>
              Take what the file says now
            </button>
            <button type="button" onClick={() => panel.configuration.settle("draft")}>
              Keep mine, to save over it
            </button>
          </div>
        </div>
      )}
      <div class="settings-columns">
        <div class="settings-text">
          <label for="configuration">The file {file === null && !loading && <span class="muted">(does not exist yet)</span>}</label>
          <textarea
            id="configuration"
            ref={area}
            class="mono"
            spellcheck={false}
            wrap="off"
            disabled={loading}
            value={draft}
            aria-invalid={errors.length > 0}
            aria-describedby="configuration-problems"
            onInput={(event) => panel.configuration.edit(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              if (savable) void panel.configuration.save();
            }}
          />
          <div id="configuration-problems" role="status" class="problems">
            {phase === "checking" && <p class="muted">Checking…</p>}
            {phase === "saving" && <p class="muted">Saving…</p>}
            {saved && <p class="ok">Saved. Runs that begin from now on go by it.</p>}
            {errors.map((text, index) => (
              <p key={index} class="err">
                <Rich text={text} />
              </p>
            ))}
            {warnings.map((text, index) => (
              <p key={index} class="warn">
                <Rich text={text} />
              </p>
            ))}
            {phase === "settled" && !saved && errors.length === 0 && warnings.length === 0 && <p class="muted">Nothing is wrong with it.</p>}
          </div>
        </div>
        <Values values={told?.values ?? []} />
      </div>
      {configuration.leaving !== null && (
        <Confirm
          title="Leave the settings"
          text="What you changed has not been saved."
          action="Leave without saving"
          onYes={() => panel.configuration.left(true)}
          onClose={() => panel.configuration.left(false)}
        />
      )}
    </>
  );
}

/** What each key comes to, and where that is said. */
function Values({ values }: { values: ConfigurationValue[] }) {
  return (
    <div class="settings-values">
      <h3>What it comes to</h3>
      <div class="table-box" tabIndex={0} role="region" aria-label="Values of the configuration">
        <table>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Value</th>
              <th scope="col">From</th>
            </tr>
          </thead>
          <tbody>
            {values.map((value) => (
              <tr key={value.key}>
                <th scope="row" class="mono">
                  {visible(value.key)}
                </th>
                <td class="mono">{visible(value.value)}</td>
                <td class="muted">{visible(value.from)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
