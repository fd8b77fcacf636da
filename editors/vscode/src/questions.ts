import * as vscode from "vscode";
import type { Changes } from "./changes.ts";
import type { Connection } from "./connection.ts";
import type { OpenQuestion, RunModel, Runs } from "./runs.ts";
import { inNotification } from "./text.ts";
import { questionWords } from "./verdict.ts";
import type { AnswerWord } from "./wire.ts";

/** A question that is answered at once, such as by the panel, never becomes a notification. */
const PAUSE_MS = 250;
const SHOW = "Show change";

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

  constructor(
    private readonly connection: Connection,
    private readonly runs: Runs,
    private readonly changes: Changes,
  ) {}

  /** Looks at a run whose events were another than before. */
  update(model: RunModel): void {
    let gone = false;
    for (const [key, { question, closed }] of this.shown) {
      if (question.run !== model.run || model.questions.get(question.gate) === question) continue;
      this.shown.delete(key);
      gone ||= !closed;
    }
    if (gone) void this.hide();
    for (const question of model.questions.values()) {
      setTimeout(() => {
        if (this.isOpen(question) && !this.shown.has(keyOf(question))) void this.show(question);
      }, PAUSE_MS);
    }
  }

  /** Shows again what still wants an answer: VS Code takes notifications off the screen after some seconds. */
  remind(): void {
    for (const { question, closed } of [...this.shown.values()]) if (!closed && this.isOpen(question)) void this.show(question);
  }

  private isOpen(question: OpenQuestion): boolean {
    return this.connection.isOpen && this.runs.model(question.run)?.questions.get(question.gate) === question;
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
    const key = keyOf(question);
    const mine: Shown = { question, closed: false };
    this.shown.set(key, mine);
    const words = questionWords(question.question);
    const request = this.runs.get(question.run)?.request ?? question.run;
    const text = inNotification(`${words.text} (${inNotification(request, 80)})`, 500);
    const buttons = [words.yes, words.always, words.no, words.shows ? SHOW : null].filter((word) => word !== null);
    const pressed = await vscode.window.showInformationMessage(text, ...buttons);
    if (pressed === undefined) {
      // Or a newer notification of the same question took its place, and then this says nothing.
      mine.closed = true;
      return;
    }
    if (!this.isOpen(question)) {
      void vscode.window.showInformationMessage("This question is answered already, or its run went on.");
      return;
    }
    if (pressed === SHOW) {
      await this.changes.show(question.run);
      void this.show(question);
      return;
    }
    const reply: AnswerWord = pressed === words.yes ? "yes" : pressed === words.always ? "always" : "no";
    this.shown.delete(key);
    const event = await this.connection.ask({ type: "answer", run: question.run, gate: question.gate, reply });
    if (event?.type === "error") void vscode.window.showWarningMessage(inNotification(event.error, 400));
    if (event === null) void vscode.window.showWarningMessage("The connection was lost before the answer arrived. Answer again.");
  }
}

function keyOf({ run, gate }: OpenQuestion): string {
  return `${run} ${gate}`;
}
