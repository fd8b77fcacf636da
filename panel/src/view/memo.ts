import { Component, type ComponentType, createElement } from "preact";

/** A component that is drawn again only when one of the values of `by` is another. */
export function memo<P extends object>(draw: ComponentType<P>, by: (props: P) => unknown[]): ComponentType<P> {
  return class Memo extends Component<P> {
    private seen: unknown[] = [];

    override shouldComponentUpdate(next: P): boolean {
      const values = by(next);
      const same = values.length === this.seen.length && values.every((value, index) => Object.is(value, this.seen[index]));
      this.seen = values;
      return !same;
    }

    override componentWillMount(): void {
      this.seen = by(this.props as P);
    }

    override render() {
      return createElement(draw, this.props as P);
    }
  };
}
