import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Panel } from "../app/panel.ts";

export const PanelContext = createContext<Panel | null>(null);

/** What can be done. */
export function usePanel(): Panel {
  const panel = useContext(PanelContext);
  if (panel === null) throw new Error("A component stands outside of the panel.");
  return panel;
}
