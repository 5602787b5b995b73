// A run's curves: read from the controller, which thins them out, and continued by live steps.
import { useCallback, useEffect, useState } from "preact/hooks";
import { getQuantities, getSteps, int, real, type Series } from "./api/client";
import { useSteps } from "./api/live";
import type { StepReport } from "./api/types";

export interface Range {
  from: number;
  to: number;
}

export const kPoints = 1200;

/** What a live step says about a quantity. */
function quantityOf(step: StepReport, quantity: string): number | null | undefined {
  const [group, name = ""] = quantity.split("/");
  switch (group) {
    case "loss":
      return real(step.loss);
    case "grad_norm":
      return real(step.gradNorm);
    case "learning_rate":
      return step.learningRate ?? 0;
    case "seconds":
      return step.seconds ?? 0;
    case "tokens_per_second":
      return step.seconds ? int(step.tokens) / step.seconds : null;
    case "causal_mfu":
      return step.causalMfu ?? 0;
    case "full_mfu":
      return step.fullMfu ?? 0;
    case "hfu":
      return step.hfu ?? 0;
    case "phase":
      return step.phaseSeconds?.[name] ?? 0;
    case "memory":
      return int(step.memoryBytes?.[name]);
    case "axis_wait":
      return step.axes?.[name]?.waitSeconds ?? 0;
    case "axis_bytes":
      return int(step.axes?.[name]?.bytesSent);
    default:
      return undefined;
  }
}

/** The curve up to the step before, and the step. */
function continued(series: Series, step: StepReport): Series {
  const value = quantityOf(step, series.quantity);
  if (value === undefined || series.rank !== 0) return series;
  const at = int(step.step);
  let kept = series.steps.length;
  while (kept > 0 && series.steps[kept - 1]! >= at) --kept; // a restart runs steps again
  return {
    ...series,
    steps: [...series.steps.slice(0, kept), at],
    times: [...series.times.slice(0, kept), step.time ? Date.parse(step.time) / 1000 : Date.now() / 1000],
    values: [...series.values.slice(0, kept), value],
  };
}

export interface Curves {
  series: Series[];
  problem: string;
  loaded: boolean;
}

export interface Wanted {
  /** Of the quantities that the job has, those to read. */
  pick: (names: string[]) => string[];
  range: Range | undefined; // of steps; undefined: the whole run
  /** Another value means that there may be more than live steps have told; empty: wait. */
  version: string;
}

export function useCurves(job: string, { pick, range, version }: Wanted): Curves {
  const [state, setState] = useState<Curves>({ series: [], problem: "", loaded: false });
  const [refresh, setRefresh] = useState(0);
  useEffect(() => {
    if (!version) return;
    const stop = new AbortController();
    const read = async () => {
      const quantities = pick(await getQuantities(job, stop.signal));
      const question = { quantities, maxPoints: kPoints, from: range?.from, to: range?.to };
      return quantities.length > 0 ? getSteps(job, question, stop.signal) : [];
    };
    read()
      .then((series) => setState({ series, problem: "", loaded: true }))
      .catch((error) => stop.signal.aborted || setState((old) => ({ ...old, problem: error.message, loaded: true })));
    return () => stop.abort();
  }, [job, pick, range?.from, range?.to, version, refresh]);
  const empty = state.loaded && state.series.length === 0;
  const onStep = useCallback(
    (step: StepReport) => {
      if (range) return;
      setState((old) => ({ ...old, series: old.series.map((series) => continued(series, step)) }));
      setRefresh((old) => (empty ? old + 1 : old)); // the first step: now there is something to read
    },
    [range, empty],
  );
  useSteps(job, onStep);
  const longest = Math.max(0, ...state.series.map((series) => series.steps.length));
  useEffect(() => {
    if (longest > 2 * kPoints) setRefresh((old) => old + 1);
  }, [longest > 2 * kPoints]);
  return state;
}

export type Along = "step" | "time";

export interface Aligned {
  x: number[];
  values: (number | null)[][];
}

/**
 * Several curves over one axis. Where a curve has no point it has null, or in a stack (`carry`) its last value before:
 * the controller thins each curve by itself.
 */
export function align(series: (Series | undefined)[], along: Along, carry = false): Aligned {
  const places = series.map((one) => (along === "step" ? one?.steps : one?.times) ?? []);
  const x = [...new Set(places.flat())].sort((a, b) => a - b);
  const values = series.map((one, i) => {
    const [at, row] = [places[i]!, new Array<number | null>(x.length)];
    let next = 0;
    let last: number | null = null;
    for (let column = 0; column < x.length; ++column) {
      const begin = next;
      while (next < at.length && at[next]! <= x[column]!) last = one!.values[next++] ?? null;
      const hit = next > begin;
      row[column] = hit || carry ? last : null;
    }
    return row;
  });
  return { x, values };
}

/** Where on the axis a step lies. */
export function placeOfStep(series: Series | undefined, along: Along, step: number): number | undefined {
  if (along === "step") return step;
  const index = series?.steps.findIndex((one) => one >= step) ?? -1;
  return index < 0 ? undefined : series!.times[index];
}
