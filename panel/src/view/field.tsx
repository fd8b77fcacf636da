import { useLayoutEffect, useRef } from "preact/hooks";

/** A text field that has the focus when it appears, and sends on Ctrl+Enter. */
export function FocusedArea(props: { value: string; rows: number; onInput: (text: string) => void; onSend: () => void; onCancel: () => void }) {
  const { value, rows, onInput, onSend, onCancel } = props;
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => area.current?.focus(), []);
  return (
    <textarea
      ref={area}
      rows={rows}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSend();
        else if (event.key === "Escape") onCancel();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
}

/** Words for an action, asked for in place: a field, the action and a way back. */
export function WordsForm(props: {
  label: string;
  action: string;
  value: string;
  optional?: boolean;
  onInput: (text: string) => void;
  onSend: () => void;
  onCancel: () => void;
}) {
  const ready = props.optional === true || props.value.trim() !== "";
  const send = () => {
    if (ready) props.onSend();
  };
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label>
        {props.label}
        <FocusedArea rows={2} value={props.value} onInput={props.onInput} onSend={send} onCancel={props.onCancel} />
      </label>
      <div class="buttons">
        <button type="submit" disabled={!ready}>
          {props.action}
        </button>
        <button type="button" class="link" onClick={props.onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

/** A choice of a few, one of which holds. */
export function Segments<T extends string>(props: { label: string; value: T; options: [T, string][]; onChoose: (value: T) => void }) {
  return (
    <div class="segments" role="group" aria-label={props.label}>
      {props.options.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={value === props.value} onClick={() => props.onChoose(value)}>
          {text}
        </button>
      ))}
    </div>
  );
}
