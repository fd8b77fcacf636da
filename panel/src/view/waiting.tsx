import { useEffect, useRef, useState } from "preact/hooks";
import { answersOf, questionText } from "../model/questions.ts";
import type { OpenQuestion, RunModel } from "../model/run.ts";
import { visible } from "../text/visible.ts";
import type { AnswerWord, RunState } from "../wire/protocol.ts";
import { usePanel } from "./context.ts";
import { Diff } from "./diff/diff.tsx";
import { WordsForm } from "./field.tsx";
import { toTimeline, useFocusBack } from "./hooks.ts";
import { Rich } from "./text.tsx";

/** How long keys answer nothing after a question appeared: what was pressed then was meant for something else. */
const READING_MS = 500;

/** The questions that a run waits for: the first one, with its answers on buttons and keys. */
export function Waiting({ model, driven, others }: { model: RunModel; driven: boolean; others: RunState[] }) {
  const panel = usePanel();
  const questions = driven ? [...model.questions.values()] : [];
  const first = questions[0];
  if (first === undefined && others.length === 0) return null;
  return (
    <section class="waiting" aria-label="Waiting for you">
      {first !== undefined && <QuestionView key={first.gate} model={model} asked={first} more={questions.length - 1} />}
      {others.map((run) => (
        <p key={run.run} class="waiting-other">
          <span>
            Another run waits for you: <strong>{visible(run.request.slice(0, 120))}</strong>
          </span>
          <button type="button" onClick={() => panel.show(run.run)}>
            Show it
          </button>
        </p>
      ))}
    </section>
  );
}

const WORDS = {
  command: { key: "Deny and say why", label: "What the agent should know", action: "Deny" },
  patch: { key: "Decline and say why", label: "What should be different; the builder reads it", action: "Decline" },
  land: { key: "Ask for a change instead", label: "To the builder; nothing lands before it is taken up", action: "Send" },
} as const;

function QuestionView({ model, asked, more }: { model: RunModel; asked: OpenQuestion; more: number }) {
  const panel = usePanel();
  const [sending, setSending] = useState(false);
  const [saying, setSaying] = useState(false);
  const [words, setWords] = useState("");
  const { question } = asked;
  const names = answersOf(question);
  const place = useRef<HTMLDivElement>(null);
  const appeared = useRef(performance.now());
  useEffect(() => {
    const question = place.current;
    return () => leaveFocus(question);
  }, []);
  useFocusBack(saying, () => place.current?.querySelector<HTMLElement>("[aria-keyshortcuts=c]"));
  const answer = async (reply: AnswerWord, text = "") => {
    if (sending) return;
    setSending(true);
    await panel.answer(model.run, asked.gate, reply, text);
    setSending(false);
  };
  const say = async () => {
    if (question.question !== "land") return answer("no", words);
    if (await panel.comment(model.run, words, null)) setSaying(false);
  };
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.repeat || performance.now() - appeared.current < READING_MS) return;
      if (event.key === "y") void answer("yes");
      else if (event.key === "a" && names.always !== null) void answer("always");
      else if (event.key === "n") void answer("no");
      else if (event.key === "c") setSaying(true);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
  return (
    <div class="question" ref={place}>
      <h2>
        Waiting for you {more > 0 && <span class="count">{more} more after this</span>}
      </h2>
      <p class="question-text">
        <Rich text={questionText(question)} />
      </p>
      {question.question === "patch" && (
        <div class="question-diff">
          <Diff
            patch={question.diff}
            before={model.patch}
            sinceLabel="Since the last patch"
            run={model.run}
            workspace={model.started?.event.workspace ?? null}
            comment={false}
          />
        </div>
      )}
      {question.question === "land" && model.patch !== null && <Change model={model} patch={model.patch} />}
      {saying ? (
        <WordsForm
          label={WORDS[question.question].label}
          action={WORDS[question.question].action}
          value={words}
          onInput={setWords}
          onSend={() => void say()}
          onCancel={() => setSaying(false)}
        />
      ) : (
        <div class="buttons">
          <Answer name={names.yes} hint="y" primary disabled={sending} onClick={() => void answer("yes")} />
          {names.always !== null && <Answer name={names.always} hint="a" disabled={sending} onClick={() => void answer("always")} />}
          <Answer name={names.no} hint="n" disabled={sending} onClick={() => void answer("no")} />
          <Answer name={WORDS[question.question].key} hint="c" quiet disabled={sending} onClick={() => setSaying(true)} />
        </div>
      )}
    </div>
  );
}

/** The change that would land, folded: it stands in the conversation, but may be far up. */
function Change({ model, patch }: { model: RunModel; patch: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show the change</summary>
      {open && (
        <div class="question-diff">
          <Diff patch={patch} before={null} sinceLabel="" run={model.run} workspace={model.started?.event.workspace ?? null} comment={false} />
        </div>
      )}
    </details>
  );
}

function Answer(props: { name: string; hint: string; primary?: boolean; quiet?: boolean; disabled: boolean; onClick: () => void }) {
  const { name, hint, primary, quiet, disabled, onClick } = props;
  return (
    <button type="button" class={primary ? "primary" : quiet ? "quiet" : undefined} aria-keyshortcuts={hint} disabled={disabled} onClick={onClick}>
      {name} <kbd aria-hidden="true">{hint}</kbd>
    </button>
  );
}

/** What had the focus in a question that goes leaves it to the conversation. */
function leaveFocus(question: HTMLElement | null): void {
  const { activeElement } = document;
  if (activeElement === document.body || question?.contains(activeElement)) toTimeline();
}

/** Whether keys belong to what is being written. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable], dialog") !== null;
}
