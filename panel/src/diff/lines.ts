/** One step from one list of lines to another. */
export interface Step {
  sign: " " | "+" | "-";
  text: string;
}

/** More differences than this are told as all of one and then all of the other. */
const MOST_DIFFERENCES = 1500;

/** The shortest way from `old` to `now`, line by line (Myers). */
export function steps(old: string[], now: string[]): Step[] {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail++;
  const same = (text: string): Step => ({ sign: " ", text });
  return [
    ...old.slice(0, head).map(same),
    ...middle(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail).map(same),
  ];
}

function middle(old: string[], now: string[]): Step[] {
  const trace = search(old, now);
  if (trace === null || old.length === 0 || now.length === 0) {
    return [...old.map((text): Step => ({ sign: "-", text })), ...now.map((text): Step => ({ sign: "+", text }))];
  }
  const back: Step[] = [];
  let x = old.length;
  let y = now.length;
  for (let d = trace.length - 1; d >= 0; d--) {
    const reach = trace[d] as Map<number, number>;
    const k = x - y;
    const down = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : (reach.get(from) ?? 0);
    const fromY = d === 0 ? 0 : fromX - from;
    while (x > fromX && y > fromY) {
      back.push({ sign: " ", text: old[--x] as string });
      y--;
    }
    if (d === 0) break;
    if (down) back.push({ sign: "+", text: now[--y] as string });
    else back.push({ sign: "-", text: old[--x] as string });
  }
  return back.reverse();
}

/** How far each diagonal reaches before each difference; null if there are too many. */
function search(old: string[], now: string[]): Map<number, number>[] | null {
  const reach = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let d = 0; d <= Math.min(old.length + now.length, MOST_DIFFERENCES); d++) {
    trace.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
      let x = down ? (reach.get(k + 1) ?? 0) : (reach.get(k - 1) ?? 0) + 1;
      while (x < old.length && x - k < now.length && old[x] === now[x - k]) x++;
      reach.set(k, x);
      if (x >= old.length && x - k >= now.length) return trace;
    }
  }
  return null;
}
