/** Whoever wants to be told of something. */
export class Listeners<T> {
  private readonly all = new Set<(value: T) => void>();

  /** Adds one; the result takes it away again. */
  add(listener: (value: T) => void): { dispose(): void } {
    this.all.add(listener);
    return { dispose: () => void this.all.delete(listener) };
  }

  tell(value: T): void {
    for (const listener of [...this.all]) {
      try {
        listener(value);
      } catch (error) {
        // One that fails keeps nothing from the others.
        console.error(error);
      }
    }
  }
}
