import { visible } from "../text/visible.ts";

/** Text of people, agents and programs: shown as text, with what stands in backticks as code. */
export function Rich({ text }: { text: string }) {
  const pieces = visible(text).split(/`([^`\n]+)`/);
  return <>{pieces.map((piece, index) => (index % 2 === 1 ? <code key={index}>{piece}</code> : piece))}</>;
}

/** Text as it is, in the fixed font. */
export function Code({ text }: { text: string }) {
  return <code>{visible(text)}</code>;
}

/** A long output: the whole of it, in a box that scrolls. */
export function Output({ text, label }: { text: string; label: string }) {
  return (
    <pre class="output" tabIndex={0} role="region" aria-label={label}>
      {visible(text)}
    </pre>
  );
}

/** A list of texts, if there are any. */
export function TextList({ title, items }: { title: string; items: string[] }) {
  if (items.length === 0) return null;
  return (
    <div class="text-list">
      <h4>{title}</h4>
      <ul>
        {items.map((item, index) => (
          <li key={index}>
            <Rich text={item} />
          </li>
        ))}
      </ul>
    </div>
  );
}
