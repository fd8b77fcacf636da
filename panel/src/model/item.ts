import type { BuilderReply, EventOf, Review, Role, Usage } from "../wire/protocol.ts";

/** What an agent's answer cost. */
export interface AnswerCost {
  model: string;
  usage: Usage;
  milliseconds: number;
}

/** A line of a status message. */
export interface StatusLine {
  text: string;
  at: string;
}

/** A message of the timeline. Never changed once it is there: an update puts another in its place. */
export type Item = { key: number; at: string } & (
  | { kind: "user"; text: string; about: string | null }
  | { kind: "status"; lines: StatusLine[] }
  | { kind: "builder"; reply: BuilderReply; cost: AnswerCost | null }
  | { kind: "reviewer"; role: Role; text: string; cost: AnswerCost | null }
  | { kind: "patch"; patch: string; before: string | null; turn: number }
  /** `own`: of the person's tree as it is, rather than of the run. */
  | { kind: "tests"; output: EventOf<"tests_output">; own: boolean }
  | { kind: "evidence"; outputs: EventOf<"tests_output">[] }
  | { kind: "review"; review: Review; turn: number }
  | { kind: "success"; text: string }
  | { kind: "warning"; text: string }
  | { kind: "error"; text: string }
);

type WithoutKey<T> = T extends unknown ? Omit<T, "key"> : never;
/** A message before it has its place. */
export type NewItem = WithoutKey<Item>;

/** Messages that are drawn together. */
export interface Block {
  key: number;
  items: Item[];
  /** Another number whenever something in it is another. */
  revision: number;
}

/** What a turn came to, for when it is folded. */
export interface TurnSummary {
  added: number;
  removed: number;
  files: number;
  tests: { passed: number; failed: number } | null;
  testsRed: boolean;
  verdict: Review["verdict"] | null;
  blockers: number;
  suggestions: number;
}

/** A turn, or what comes before the first or after the last. */
export interface Section {
  key: number;
  /** Null for what belongs to no turn. */
  turn: number | null;
  began: string;
  blocks: Block[];
  summary: TurnSummary;
  revision: number;
}

const BLOCK_SIZE = 12;
const EVIDENCE_SIZE = 40;

/** The messages of a run, in sections. Adding one costs the same however many there are. */
export class Timeline {
  readonly sections: Section[] = [];
  private nextKey = 1;

  /** The section at the end. */
  get last(): Section | undefined {
    return this.sections.at(-1);
  }

  open(turn: number | null, at: string): Section {
    const section: Section = {
      key: this.nextKey++,
      turn,
      began: at,
      blocks: [],
      summary: { added: 0, removed: 0, files: 0, tests: null, testsRed: false, verdict: null, blockers: 0, suggestions: 0 },
      revision: 0,
    };
    this.sections.push(section);
    return section;
  }

  add(item: NewItem): void {
    const section = this.last ?? this.open(null, item.at);
    section.revision++;
    let block = section.blocks.at(-1);
    if (block !== undefined && this.joined(block, item)) return;
    if (block === undefined || block.items.length >= BLOCK_SIZE) {
      block = { key: this.nextKey++, items: [], revision: 0 };
      section.blocks.push(block);
    }
    block.items.push({ ...item, key: this.nextKey++ } as Item);
    block.revision++;
  }

  /** Takes the latest message away, if it is of that kind. */
  withdraw(kind: Item["kind"]): void {
    const section = this.last;
    const block = section?.blocks.at(-1);
    if (section === undefined || block?.items.at(-1)?.kind !== kind) return;
    block.items.pop();
    block.revision++;
    section.revision++;
  }

  /** Status lines and runs of evidence that follow each other are one message. */
  private joined(block: Block, item: NewItem): boolean {
    const last = block.items.at(-1);
    let together: Item | undefined;
    if (last?.kind === "status" && item.kind === "status" && last.lines.length < EVIDENCE_SIZE) {
      together = { ...last, lines: [...last.lines, ...item.lines] };
    } else if (last?.kind === "evidence" && item.kind === "evidence" && last.outputs.length < EVIDENCE_SIZE) {
      together = { ...last, outputs: [...last.outputs, ...item.outputs] };
    }
    if (together === undefined) return false;
    block.items[block.items.length - 1] = together;
    block.revision++;
    return true;
  }
}
