// Colours: those of Okabe and Ito, which people with any colour vision tell apart.
import { useEffect, useState } from "preact/hooks";

export const kPalette = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7f7f7f"];
export const colorAt = (index: number) => kPalette[index % kPalette.length]!;

const kPhases: Record<string, string> = {
  attention: "#0072b2",
  gemm: "#56b4e9",
  optimizer: "#009e73",
  data: "#7bc8a4",
  checkpoint: "#b8a800",
  ring_exposed: "#d55e00",
  ulysses_exposed: "#e69f00",
  tensor_exposed: "#f0b860",
  gather_exposed: "#cc79a7",
  reduce_exposed: "#a0527d",
  offload_exposed: "#8c564b",
  idle: "#9aa0a6",
};
/** Work is cool, waiting for others warm. */
export const phaseColor = (phase: string, index: number) => kPhases[phase] ?? colorAt(index);

const kMemory: Record<string, string> = {
  weights: "#0072b2",
  gradients: "#56b4e9",
  optimizer: "#009e73",
  activations: "#e69f00",
  workspace: "#cc79a7",
  communication: "#d55e00",
  data: "#b8a800",
};
export const memoryColor = (kind: string, index: number) => kMemory[kind.replace(/^host /, "")] ?? colorAt(index);

export type Theme = "auto" | "light" | "dark";
const kKey = "ringmaster-theme";
const kDark = matchMedia("(prefers-color-scheme: dark)");
const changes = new EventTarget();

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(kKey);
  return kept === "light" || kept === "dark" ? kept : "auto";
}

export function applyTheme(theme: Theme) {
  if (theme === "auto") localStorage.removeItem(kKey);
  else localStorage.setItem(kKey, theme);
  const dark = theme === "dark" || (theme === "auto" && kDark.matches);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  changes.dispatchEvent(new Event("theme"));
}

kDark.addEventListener("change", () => applyTheme(chosenTheme()));

export interface Inks {
  text: string;
  faint: string;
  grid: string;
  panel: string;
  alarm: string;
}

function inks(): Inks {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return { text: of("--text"), faint: of("--faint"), grid: of("--grid"), panel: of("--panel"), alarm: of("--alarm") };
}

/** The colours that canvases draw with, of the present theme. */
export function useInks(): Inks {
  const [state, setState] = useState(inks);
  useEffect(() => {
    const update = () => setState(inks());
    changes.addEventListener("theme", update);
    return () => changes.removeEventListener("theme", update);
  }, []);
  return state;
}

// Cividis at five places: as even to the eye with red-green blindness as without.
const kSequence = [
  [0, 34, 78],
  [63, 77, 107],
  [124, 123, 120],
  [187, 173, 108],
  [254, 232, 56],
] as const;

/** A colour for 0 to 1, dark to bright. */
export function heat(part: number): [number, number, number] {
  const at = Math.min(Math.max(part, 0), 1) * (kSequence.length - 1);
  const below = Math.min(Math.floor(at), kSequence.length - 2);
  const [low, high] = [kSequence[below]!, kSequence[below + 1]!];
  const mix = (i: 0 | 1 | 2) => Math.round(low[i] + (high[i] - low[i]) * (at - below));
  return [mix(0), mix(1), mix(2)];
}
