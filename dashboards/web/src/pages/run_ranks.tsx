import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { getSteps, type Series } from "../api/client";
import type { Job, Node } from "../api/types";
import { HeatMap, HeatScale } from "../components/heatmap";
import { Choice, Empty, Section } from "../components/parts";
import { counted, grouped, meshSize, seconds } from "../format";
import { isRunning, newestAttempt } from "../job";

type Shown = "work" | "wait" | "step";
const kShown: readonly (readonly [Shown, string])[] = [
  ["work", "Own work"],
  ["wait", "Waiting"],
  ["step", "Step time"],
];
const kRefresh = 5000; // milliseconds
const kMany = 64; // ranks, whose map has fewer columns: it is millions of bytes
const columnsOf = (ranks: number) => (ranks > kMany ? 48 : 160);
const kWorkEnds = [0.75, 1.35] as const; // times the median of the ranks
const kStraggles = 1.15; // times the median of the ranks, as the alert has it

interface Grid {
  steps: number[]; // of each column, its first
  values: Float64Array[]; // by rank; NaN: nothing is known
}

/** Columns of equal width in steps, from the first to the last of `whole`, whose cells are means. */
function gridOf(series: Series[], whole: Series[], ranks: number, columns: number): Grid {
  const all = whole.flatMap((one) => [one.steps[0] ?? 0, one.steps[one.steps.length - 1] ?? 0]);
  const [first, last] = [Math.min(...all), Math.max(...all)];
  const width = Math.max(1, Math.ceil((last - first + 1) / columns));
  const used = Math.max(1, Math.ceil((last - first + 1) / width));
  const values = Array.from({ length: ranks }, () => new Float64Array(used));
  const counts = Array.from({ length: ranks }, () => new Uint32Array(used));
  for (const one of series) {
    const [row, hits] = [values[one.rank], counts[one.rank]];
    if (!row || !hits) continue;
    one.steps.forEach((step, i) => {
      const column = Math.floor((step - first) / width);
      row[column]! += one.values[i] ?? 0;
      hits[column]!++;
    });
  }
  values.forEach((row, rank) => row.forEach((sum, i) => (row[i] = counts[rank]![i] ? sum / counts[rank]![i]! : NaN)));
  return { steps: Array.from({ length: used }, (_, i) => first + i * width), values };
}

/** What is shown, of the grids of a step's seconds and of those in which the rank waited for others. */
function gridShown(shown: Shown, step: Grid, waited: Grid): Grid {
  if (shown === "step") return step;
  if (shown === "wait") return waited;
  const values = step.values.map((row, rank) => row.map((value, i) => value - waited.values[rank]![i]!));
  return { steps: step.steps, values };
}

/** Each value over the median of its column: a step that is slow for all ranks is no rank's fault. */
function overMedian(grid: Grid): Grid {
  const medians = grid.steps.map((_, i) => median(grid.values.map((row) => row[i] ?? NaN)));
  return { steps: grid.steps, values: grid.values.map((row) => row.map((value, i) => value / medians[i]!)) };
}

function median(values: number[]): number {
  const known = values.filter(Number.isFinite).sort((a, b) => a - b);
  const middle = known.length >> 1;
  if (known.length === 0) return NaN;
  return known.length % 2 === 1 ? known[middle]! : (known[middle - 1]! + known[middle]!) / 2;
}

/** The rank whose own work takes longest in the last columns, if it takes much longer than the others'. */
function stragglerOf(work: Grid): { rank: number; ratio: number } | undefined {
  const recent = work.values.map((row) => median([...row.slice(-Math.max(3, Math.ceil(row.length / 10)))]));
  const usual = median(recent);
  const rank = recent.reduce((best, value, i) => (value > (recent[best] ?? 0) ? i : best), 0);
  const ratio = recent[rank]! / usual;
  return ratio >= kStraggles ? { rank, ratio } : undefined;
}

/** Without the few extreme cells, which would hide the rest. */
function endsOf(grid: Grid | undefined): readonly [number, number] {
  const known = (grid?.values ?? [])
    .flatMap((row) => [...row])
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  return [known[Math.floor(known.length * 0.02)] ?? 0, known[Math.floor(known.length * 0.98)] ?? 1];
}

function useRanks(job: Job, generation: number, ranks: number) {
  const [state, setState] = useState<{ series: Series[]; problem: string }>({ series: [], problem: "" });
  const [tick, setTick] = useState(0);
  const running = isRunning(job);
  const hasSteps = job.lastStep !== undefined;
  useEffect(() => {
    if (!hasSteps) return;
    const stop = new AbortController();
    const question = {
      quantities: ["seconds", "waited"],
      ranks: "all",
      maxPoints: columnsOf(ranks),
    };
    getSteps(job.id, question, stop.signal)
      .then((series) => setState({ series, problem: "" }))
      .catch((error) => stop.signal.aborted || setState((old) => ({ ...old, problem: error.message })));
    return () => stop.abort();
  }, [job.id, hasSteps, ranks, generation, tick]);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => document.visibilityState === "visible" && setTick((old) => old + 1), kRefresh);
    return () => clearInterval(timer);
  }, [running]);
  return state;
}

export function Ranks({ job, nodes, generation }: { job: Job; nodes: Node[]; generation: number }) {
  const attempt = newestAttempt(job);
  const ranks = meshSize(attempt?.mesh);
  const { series, problem } = useRanks(job, generation, ranks);
  const [shown, setShown] = useState<Shown>("work");
  const columns = columnsOf(ranks);
  const grids = useMemo(() => {
    if (series.length === 0) return undefined;
    const of = (quantity: string) =>
      gridOf(
        series.filter((one) => one.quantity === quantity),
        series,
        ranks,
        columns,
      );
    const [step, waited] = [of("seconds"), of("waited")];
    const [values, work] = [gridShown(shown, step, waited), gridShown("work", step, waited)];
    return { values, shades: shown === "work" ? overMedian(values) : values, work };
  }, [series, shown, ranks]);
  const placeOf = (rank: number) => {
    const place = attempt?.placement?.[rank];
    const host = nodes.find((node) => node.id === place?.nodeId)?.inventory?.hostname;
    return host ? `${host} device ${place?.device ?? 0}` : "";
  };
  const straggler = useMemo(() => (grids && ranks > 1 ? stragglerOf(grids.work) : undefined), [grids]);
  const grid = grids?.values;
  const shades = grids?.shades;
  const text = shown === "work" ? (value: number) => `${value.toFixed(2)} ×` : seconds;
  const [low, high] = useMemo(() => (shown === "work" ? kWorkEnds : endsOf(shades)), [shades, shown]);
  const shade = useCallback(
    (rank: number, i: number) => {
      const value = shades?.values[rank]?.[i] ?? NaN;
      return Number.isFinite(value) ? (value - low) / (high - low || 1) : null;
    },
    [shades, low, high],
  );
  return (
    <Section
      title="Ranks over time"
      note={
        straggler ? (
          <span class="bad">
            rank {straggler.rank} straggles: {straggler.ratio.toFixed(2)} × the median{" "}
            {placeOf(straggler.rank) && `(${placeOf(straggler.rank)})`}
          </span>
        ) : (
          `${counted(ranks, "rank")}, none straggles`
        )
      }
      tools={
        <>
          <HeatScale low={text(low)} high={text(high)} />
          <Choice label="Shown" options={kShown} value={shown} onChange={setShown} />
        </>
      }
    >
      {problem && <p class="problem">{problem}</p>}
      {grid ? (
        <HeatMap
          rows={ranks}
          columns={grid.steps.length}
          shade={shade}
          rowLabel={(rank) => String(rank)}
          markedRows={new Map(straggler ? [[straggler.rank, "#d55e00"]] : [])}
          describe={(rank, i) =>
            `rank ${rank} ${placeOf(rank)} · step ${grouped(grid.steps[i]!)} · ${seconds(grid.values[rank]?.[i] ?? NaN)}${shown === "work" ? `, ${text(shades?.values[rank]?.[i] ?? NaN)} the median` : ""}`
          }
          label={`Seconds of each of ${ranks} ranks over the steps`}
        />
      ) : (
        !problem && <Empty>No rank has reported a step yet.</Empty>
      )}
    </Section>
  );
}
