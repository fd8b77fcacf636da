import { ROLES, workText } from "../model/checks.ts";
import type { Part, RunModel, Stream } from "../model/run.ts";
import { duration, several } from "../text/format.ts";
import { visible } from "../text/visible.ts";
import type { Role } from "../wire/protocol.ts";
import { useNow } from "./hooks.ts";
import { type Kind, MessageFrame } from "./message/frame.tsx";
import { Rich } from "./text.tsx";

/** So many characters are shown of a line, or of a reply that is not JSON, and so many lines. */
const TAIL = 2000;
const LINES = 50;

/** The agents at work, with their replies as they arrive, and what else goes on. */
export function LiveMessages({ model }: { model: RunModel }) {
  const parts = [...model.parts.values()];
  const now = useNow(parts.length > 0);
  const calls = new Map<Role, Part>();
  for (const part of parts) if (part.work.work === "call") calls.set(part.work.role, part);
  const roles = new Set<Role>([...model.streams.keys(), ...calls.keys()]);
  const others = parts.filter((part) => part.work.work !== "call" && part.work.work !== "ask");
  return (
    <>
      {[...roles].map((role) => (
        <LiveReply key={role} role={role} stream={model.streams.get(role)} part={calls.get(role)} now={now} />
      ))}
      {others.length > 0 && (
        <MessageFrame kind="status" label="Now" live>
          {others.slice(0, 4).map((part, index) => (
            <p key={index} class="muted">
              {workText(part.work)}
              {part.work.work === "check" && (
                <>
                  {" "}
                  <code>{visible(part.work.command)}</code>
                </>
              )}{" "}
              <span class="number">{since(part.began, now)}</span>
            </p>
          ))}
          {others.length > 4 && <p class="muted">and {several(others.length - 4, "more")}</p>}
        </MessageFrame>
      )}
    </>
  );
}

const KINDS: Record<Role, Kind> = { builder: "builder", reviewer: "reviewer", moderator: "reviewer", examiner: "reviewer" };

function LiveReply({ role, stream, part, now }: { role: Role; stream: Stream | undefined; part: Part | undefined; now: number }) {
  const text = stream?.text ?? "";
  const told = stream?.gist.read(text) ?? null;
  const lines = told?.lines.slice(-LINES) ?? [];
  const earlier = told === null ? 0 : told.lines.length - lines.length;
  const passed = part === undefined ? "" : since(part.began, now);
  return (
    <MessageFrame kind={KINDS[role]} label={ROLES[role]} live>
      {told === null && text !== "" && (
        <p class="words">
          {visible(tail(text))}
          <span class="caret" />
        </p>
      )}
      {earlier > 0 && <p class="muted">… {several(earlier, "line")} before</p>}
      {lines.map((line, index) => (
        <p key={earlier + index}>
          <Rich text={tail(line)} />
          {index === lines.length - 1 && <span class="caret" />}
        </p>
      ))}
      {told !== null && told.patchLines > 0 && (
        <p class="muted">
          The patch: <span class="number">{several(told.patchLines, "line")}</span>
        </p>
      )}
      {(text === "" || (told !== null && lines.length === 0 && told.patchLines === 0)) && (
        <p class="muted">
          {part === undefined ? "Answering" : workText(part.work).replace(/^\w+ /, "").replace(/^./, (first) => first.toUpperCase())}
          <span class="caret" />
        </p>
      )}
      {part !== undefined && (
        <p class="fine number">
          {[passed, text === "" ? "" : several(text.length, "character")].filter((one) => one !== "").join(" · ")}
        </p>
      )}
    </MessageFrame>
  );
}

function tail(text: string): string {
  return text.length > TAIL ? `… ${text.slice(-TAIL)}` : text;
}

function since(began: string, now: number): string {
  const passed = now - Date.parse(began);
  return Number.isNaN(passed) || passed < 1000 ? "" : duration(passed);
}
