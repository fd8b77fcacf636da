import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** How far outside of what is seen things are drawn. */
const MARGIN = "1500px 0px";
const watched = new WeakMap<Element, (near: boolean) => void>();
const observers = new WeakMap<Element, IntersectionObserver>();

/** One observer for each element that scrolls: a margin around the window would not reach into it. */
function observerOf(root: Element): IntersectionObserver {
  let observer = observers.get(root);
  if (observer === undefined) {
    observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) watched.get(entry.target)?.(entry.isIntersecting);
      },
      { root, rootMargin: MARGIN },
    );
    observers.set(root, observer);
  }
  return observer;
}

function observe(element: Element, tell: (near: boolean) => void): () => void {
  const root = element.closest(".timeline");
  if (root === null) return () => undefined;
  const observer = observerOf(root);
  watched.set(element, tell);
  observer.observe(element);
  return () => {
    observer.unobserve(element);
    watched.delete(element);
  };
}

/** Draws its children only while they are near what is seen; else an empty space of their height stands for them. */
export function Windowed({ guess, children }: { guess: number; children: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null);
  const height = useRef(guess);
  const [near, setNear] = useState(false);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    return observe(element, (isNear) => {
      // What is being written there would be lost.
      if (!isNear && element.querySelector("textarea") !== null) return;
      if (!isNear && element.childElementCount > 0) height.current = element.offsetHeight;
      setNear(isNear);
    });
  }, []);
  useLayoutEffect(() => {
    if (place.current !== null) place.current.style.minHeight = near ? "" : `${height.current}px`;
  }, [near]);
  return <div ref={place}>{near ? children : null}</div>;
}
