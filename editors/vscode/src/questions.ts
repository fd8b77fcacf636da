import * as vscode from "vscode";
import type { Changes } from "./changes.ts";
import type { Connection } from "./connection.ts";
import type { OpenQuestion, RunModel, Runs } from "./runs.ts";
import { inNotification } from "./text.ts";
import { type QuestionWords, questionWords } from "./verdict.ts";
import type { AnswerWord } from "./wire.ts";

/** A question that is answered at once, such as by the panel, never becomes a notification. */
const PAUSE_MS = 250;

/** A question with a notification. */
interface Shown {
  question: OpenQuestion;
  /** Whether the person closed it without an answer. */
  closed: boolean;
}

/** Asks the questions of runs in notifications. */
export class Questions {
  /** By run and gate. */
  private readonly shown = new Map<string, Shown>();
  /** Those that are answered or looked at now, so that nobody is to be asked. */
  private readonly busy = new WeakSet<OpenQuestion>();
  /** Those whose command was shown on a page of its own. */
  private readonly seen = new WeakSet<OpenQuestion>();

  constructor(
    private readonly connection: Pick<Connection, "ask" | "isOpen">,
    private readonly runs: Runs,
    private readonly changes: Pick<Changes, "show" | "showCommand">,
  ) {}

  /** Looks at a run whose events were another than before. */
  update(model: RunModel): void {
    const open = this.runs.open(model.run);
    let gone = false;
    for (const [key, { question, closed }] of this.shown) {
      if (question.run !== model.run || open.includes(question)) continue;
      this.shown.delete(key);
      gone ||= !closed;
    }
    if (gone) void this.hide();
    for (const question of open) this.ask(question);
  }

  /** Shows again what still wants an answer: VS Code takes notifications off the screen after some seconds. */
  remind(): void {
    for (const { question, closed } of [...this.shown.values()]) if (!closed && this.isOpen(question)) void this.show(question);
  }

  /** Shows a question in a while, unless it is shown or answered by then. */
  private ask(question: OpenQuestion): void {
    setTimeout(() => {
      if (this.isOpen(question) && !this.shown.has(keyOf(question)) && !this.busy.has(question)) void this.show(question);
    }, PAUSE_MS);
  }

  private isOpen(question: OpenQuestion): boolean {
    return this.connection.isOpen && this.runs.open(question.run).includes(question);
  }

  /**
   * Takes notifications off the screen. No extension can close one of its notifications alone: all are moved to the
   * notification centre, where none is lost, and those that still want an answer are shown again, which replaces the old
   * one.
   */
  private async hide(): Promise<void> {
    await vscode.commands.executeCommand("notifications.hideToasts");
    await vscode.commands.executeCommand("notifications.hideList");
    this.remind();
  }

  private async show(question: OpenQuestion): Promise<void> {
    const words = questionWords(question.question, this.seen.has(question));
    // One of a kind that only the panel knows, which asks it.
    if (words === null) return;
    const mine: Shown = { question, closed: false };
    this.shown.set(keyOf(question), mine);
    const request = this.runs.get(question.run)?.request ?? question.run;
    const text = `${words.text} (${inNotification(request, 80)})`;
    // The first one stands out: what is to be read is shown before it is answered.
    const order = words.yes === null ? [words.show, words.no] : [words.yes, words.always, words.no, words.show];
    const buttons = order.filter((word) => word !== null);
    const pressed = await vscode.window.showInformationMessage(text, ...buttons);
    if (pressed === undefined) {
      // Or a newer notification of the same question took its place, and then this says nothing.
      mine.closed = true;
      return;
    }
    this.forget(question);
    if (!this.connection.isOpen) {
      void vscode.window.showWarningMessage("There is no connection to the daemon, so nothing was answered. The question comes again with the connection.");
    } else if (!this.isOpen(question)) {
      void vscode.window.showInformationMessage("This question is answered already, or its run went on.");
    } else if (pressed === words.show) {
      await this.look(question);
    } else {
      await this.answer(question, replyOf(pressed, words));
    }
  }

  /** Shows what a question is about, and asks again. */
  private async look(question: OpenQuestion): Promise<void> {
    this.busy.add(question);
    try {
      if (question.question.question !== "command") await this.changes.show(question.run);
      else if (await this.changes.showCommand(question)) this.seen.add(question);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      void vscode.window.showErrorMessage(`This cannot be shown here: ${inNotification(why, 300)} The panel shows it too.`);
    }
    this.busy.delete(question);
    if (this.isOpen(question) && !this.shown.has(keyOf(question))) void this.show(question);
  }

  private async answer(question: OpenQuestion, reply: AnswerWord): Promise<void> {
    this.busy.add(question);
    const event = await this.connection.ask({ type: "answer", run: question.run, gate: question.gate, reply });
    if (event.type === "error") void vscode.window.showWarningMessage(inNotification(event.error, 400));
    if (event.type === "lost") {
      const text = event.sent
        ? "The connection was lost before the daemon confirmed your answer, so it may have arrived. If it did not, the question comes again."
        : "There is no connection to the daemon, so nothing was answered. The question comes again with the connection.";
      void vscode.window.showWarningMessage(text);
    }
    if (event.type !== "error" && event.type !== "lost") return;
    // What was not answered is asked again.
    this.busy.delete(question);
    this.ask(question);
  }

  private forget(question: OpenQuestion): void {
    const key = keyOf(question);
    if (this.shown.get(key)?.question === question) this.shown.delete(key);
  }
}

function replyOf(pressed: string, words: QuestionWords): AnswerWord {
  if (pressed === words.yes) return "yes";
  return pressed === words.always ? "always" : "no";
}

function keyOf({ run, gate }: OpenQuestion): string {
  return `${run} ${gate}`;
}
