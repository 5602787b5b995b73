import { useMemo } from "preact/hooks";
import { int, type Series } from "../api/client";
import type { Job } from "../api/types";
import { Chart, type ChartProps, type Line, type Mark } from "../components/chart";
import { align, type Along, type Curves, placeOfStep, type Range } from "../curves";
import { bytes, count, fixed, percent, seconds, short, tokens, unix } from "../format";
import { memoryColor, phaseColor } from "../theme";

const [kBlue, kOrange, kGreen, kPurple, kSky, kRed] = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
];

interface Props {
  job: Job;
  curves: Curves;
  along: Along;
  range: Range | undefined;
  onRange: (range: Range | undefined) => void;
  capacity: number;
}

/** Restarts, the newest checkpoint and alarms, where they lie on the axis. */
function marksOf(job: Job, loss: Series | undefined, along: Along): Mark[] {
  const marks: Mark[] = [];
  const add = (step: number, color: string, text: string) => {
    const x = placeOfStep(loss, along, step);
    if (x !== undefined && step > 0) marks.push({ x, color, text });
  };
  const attempts = job.attempts ?? [];
  attempts.slice(1).forEach((attempt, i) => {
    add(int(attempts[i]!.lastCheckpointStep), kRed, `attempt ${attempt.epoch}: ${attempts[i]!.cause ?? ""}`);
  });
  const newest = attempts[attempts.length - 1];
  if (newest) add(int(newest.lastCheckpointStep), kGreen, "checkpoint");
  for (const alarm of job.alarms ?? []) {
    const index = loss?.times.findIndex((time) => time >= unix(alarm.time)) ?? -1;
    if (index >= 0) add(loss!.steps[index]!, kOrange, alarm.text ?? "alarm");
  }
  return marks;
}

/** Steps for a range that was chosen on an axis of time. */
function stepsAt(loss: Series | undefined, along: Along, from: number, to: number): Range | undefined {
  if (along === "step") return { from: Math.max(0, Math.floor(from)), to: Math.ceil(to) };
  const inside = loss?.steps.filter((_, i) => loss.times[i]! >= from && loss.times[i]! <= to) ?? [];
  return inside.length > 1 ? { from: inside[0]!, to: inside[inside.length - 1]! } : undefined;
}

/** Kinds that are never more than a thousandth of the whole would only be names in the legend. */
function visible(series: Series[]): Series[] {
  const peak = (one: Series) => Math.max(0, ...one.values.map((value) => value ?? 0));
  const whole = Math.max(...series.map(peak), 0);
  return series.filter((one) => peak(one) > whole / 1000).sort((a, b) => a.quantity.localeCompare(b.quantity));
}

const wait = (name: string) => name.endsWith("_exposed");
/** Work at the bottom, then waiting, then idle. */
const phaseOrder = (name: string) => (name === "idle" ? 2 : wait(name) ? 1 : 0);
const phaseText = (name: string) => name.replace("_exposed", " exposed");

/** Keeps the place of the charts. */
function Blank() {
  return (
    <div class="charts" aria-busy="true">
      {Array.from({ length: 9 }, (_, i) => (
        <figure class="chart" key={i}>
          <div class="plot" />
        </figure>
      ))}
    </div>
  );
}

const isPower = (log: number) => Math.abs(log - Math.round(log)) < 1e-9;

/** Whether the model makes use of its context: the loss falls with the tokens before the target. */
function ByPosition({ job }: { job: Job }) {
  const ranges = job.lastEvaluation?.byPosition ?? [];
  if (ranges.length < 2) return null;
  return (
    <Chart
      title="Held-out loss by position"
      note={`step ${job.lastEvaluation?.step ?? 0}, by the tokens before the target`}
      x={ranges.map((range) => Math.log2(Math.max(1, int(range.fromTokens) - 1)))}
      xName="tokens before"
      xText={(log) => (isPower(log) ? tokens(2 ** Math.round(log)) : "")}
      lines={[{ label: "held out", color: kOrange, values: ranges.map((range) => Number(range.loss)) }]}
      text={fixed(3)}
    />
  );
}

export function Charts({ job, curves, along, range, onRange, capacity }: Props) {
  const by = useMemo(() => new Map(curves.series.map((series) => [series.quantity, series])), [curves.series]);
  const loss = by.get("loss");
  const marks = useMemo(() => marksOf(job, loss, along), [job.attempts, job.alarms, loss?.steps.length, along]);
  const group = (prefix: string) => curves.series.filter((series) => series.quantity.startsWith(prefix));
  const common = {
    marks,
    sync: job.id,
    xTime: along === "time",
    zoomed: range !== undefined,
    onZoom: (from: number, to: number) => {
      const steps = stepsAt(loss, along, from, to);
      if (steps && steps.to - steps.from >= 2) onRange(steps);
    },
    onReset: () => onRange(undefined),
  };
  const lines = (
    title: string,
    chosen: [string, string, string, Partial<Line>?][],
    text: ChartProps["text"],
    more: Partial<ChartProps> = {},
  ) => {
    const there = chosen.filter(([quantity]) => (by.get(quantity)?.steps.length ?? 0) > 0);
    const { x, values } = align(
      there.map(([quantity]) => by.get(quantity)),
      along,
    );
    const rows = there.map(([, label, color, extra], i): Line => ({ label, color, values: values[i]!, ...extra }));
    return <Chart {...common} title={title} x={x} lines={rows} text={text} {...more} />;
  };
  const stack = (
    title: string,
    series: Series[],
    label: (name: string) => string,
    color: (name: string, i: number) => string,
    text: ChartProps["text"],
    more: Partial<ChartProps> = {},
  ) => {
    const { x, values } = align(series, along, true);
    const name = (one: Series) => one.quantity.slice(one.quantity.indexOf("/") + 1);
    const rows = series.map((one, i): Line => ({
      label: label(name(one)),
      color: color(name(one), i),
      values: values[i]!,
    }));
    return <Chart {...common} title={title} x={x} lines={rows} text={text} stacked {...more} />;
  };
  const phases = visible(group("phase/")).sort(
    (a, b) => phaseOrder(a.quantity.slice(6)) - phaseOrder(b.quantity.slice(6)),
  );
  const memory = visible(group("memory/"));
  const device = memory.filter((series) => !series.quantity.startsWith("memory/host "));
  const host = memory.filter((series) => series.quantity.startsWith("memory/host "));
  const exposed = phases.filter((series) => wait(series.quantity));
  const used = device.reduce((sum, series) => sum + Math.max(0, ...series.values.map((value) => value ?? 0)), 0);
  const near = used > capacity / 5;
  if (!curves.loaded) return <Blank />;
  const predicted = job.attempts?.[job.attempts.length - 1]?.predicted?.stepSeconds;
  return (
    <div class="charts">
      {lines(
        "Loss",
        [
          ["loss", "training", kBlue],
          ["held_out_loss", "held out", kOrange, { points: true }],
        ],
        fixed(3),
        { note: "nats per token" },
      )}
      {lines(
        "MFU",
        [
          ["causal_mfu", "causal", kBlue],
          ["full_mfu", "full attention", kSky, { dash: true }],
          ["hfu", "HFU", kPurple, { dash: true }],
        ],
        percent,
        { note: job.lastStep?.peakName },
      )}
      {lines("Tokens per second", [["tokens_per_second", "tokens/s", kGreen]], count)}
      {lines(
        "Step time",
        [["seconds", "step", kBlue]],
        seconds,
        predicted ? { limit: { value: predicted, label: `plan ${seconds(predicted)}` } } : {},
      )}
      {stack("Phases of a step", phases, phaseText, phaseColor, seconds, { note: "rank 0, stacked" })}
      {stack("Device memory by kind", device, (name) => name, memoryColor, bytes, {
        binary: true,
        note: capacity && !near ? `at most ${bytes(used)} of ${bytes(capacity)}` : "rank 0, stacked",
        limit: capacity && near ? { value: capacity, label: `capacity ${bytes(capacity)}` } : undefined,
      })}
      {exposed.length > 0 &&
        lines(
          "Exposed time",
          exposed.map((one, i): [string, string, string] => [
            one.quantity,
            phaseText(one.quantity.slice(6)),
            phaseColor(one.quantity.slice(6), i),
          ]),
          seconds,
          { note: "compute waits" },
        )}
      {host.length > 0 &&
        stack("Host memory by kind", host, (name) => name, memoryColor, bytes, {
          note: "rank 0, stacked",
          binary: true,
        })}
      <ByPosition job={job} />
      {lines("Gradient norm", [["grad_norm", "norm", kPurple]], short)}
      {lines("Learning rate", [["learning_rate", "rate", kOrange]], short)}
    </div>
  );
}
