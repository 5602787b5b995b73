// A step of a plan: memory over its time, and what each stream does meanwhile.
import { int } from "../api/client";
import type { PlannedStep, Prediction } from "../api/types";
import { Chart, type Line } from "../components/chart";
import { Section } from "../components/parts";
import { bytes, grouped, percent, seconds } from "../format";
import { colorAt, memoryColor } from "../theme";

const kOnHost = "host ";

/** Short for an axis: 5 ms and not 5.00 ms, 150 s and not 2 m 30 s. */
const placeText = (at: number) =>
  at >= 100 && at < 3600 ? `${at.toFixed(0)} s` : seconds(at).replace(/\.0+(?= )/, "");

/** Whether a place's memory is near enough to its capacity to draw that as a line. */
const isNear = (used: number, capacity: number) => used > capacity / 5;

function stateLines(step: PlannedStep, parts: number, onHost: boolean): Line[] {
  return Object.entries(step.stateBytes ?? {})
    .filter(([kind, size]) => kind.startsWith(kOnHost) === onHost && int(size) > 0)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([kind, size], i) => ({
      label: kind.replace(kOnHost, ""),
      color: memoryColor(kind, i),
      values: new Array<number>(parts).fill(int(size)),
    }));
}

interface MemoryProps {
  step: PlannedStep;
  x: number[];
  place: "Device" | "Host";
  live: number[];
  arena: number;
  capacity: number;
}

function Memory({ step, x, place, live, arena, capacity }: MemoryProps) {
  const onHost = place === "Host";
  const lines = stateLines(step, x.length, onHost);
  const fixed = (label: string, color: string, size: number) =>
    size > 0 && lines.push({ label, color, values: new Array<number>(x.length).fill(size) });
  if (!onHost) fixed("libraries", "#7f7f7f", int(step.heldBytes));
  const below = lines.reduce((sum, line) => sum + (line.values[0] ?? 0), 0);
  if (live.length > 0) lines.push({ label: "buffers", color: "#e8d73a", values: live });
  if (lines.length === 0) return null;
  const most = below + Math.max(0, ...live);
  const near = isNear(most, capacity);
  const reserved = arena > 0 ? `, ${bytes(below + arena)} reserved` : "";
  return (
    <Chart
      title={`${place} memory`}
      note={`at most ${bytes(most)}${reserved}${capacity > 0 && !near ? ` of ${bytes(capacity)}` : ""}`}
      x={x}
      xText={step.timed ? placeText : grouped}
      lines={lines}
      text={bytes}
      stacked
      binary
      sync="planned-step"
      height={onHost ? 150 : 230}
      limit={capacity > 0 && near ? { value: capacity, label: `capacity ${bytes(capacity)}` } : undefined}
    />
  );
}

/** Steps as high as the stream is busy, in a box of as many units as there are parts. */
function lanePath(busy: number[]): string {
  let path = "M0 1";
  busy.forEach((share, i) => (path += `V${(1 - share).toFixed(3)}H${i + 1}`));
  return `${path}V1Z`;
}

/** Words that fit beside an axis. */
const kShort: Record<string, string> = { communication: "network" };

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

function Streams({ streams }: { streams: NonNullable<PlannedStep["streams"]> }) {
  return (
    <ul class="lanes" aria-label="Streams">
      {streams.map(({ name = "", busy = [] }, i) => (
        <li key={name} title={`${name}: busy for ${percent(mean(busy))} of the step`}>
          <span>{kShort[name] ?? name}</span>
          <svg viewBox={`0 0 ${busy.length} 1`} preserveAspectRatio="none" role="img" aria-label={name}>
            <path d={lanePath(busy)} fill={colorAt(i)} />
          </svg>
        </li>
      ))}
    </ul>
  );
}

function noteOf(step: PlannedStep, predicted: Prediction | undefined): string {
  if (!step.timed) return `buffer by buffer: the speeds of ${step.kind} devices are not known`;
  const planned = predicted?.stepSeconds ? `, ${seconds(predicted.stepSeconds)} when it was planned` : "";
  const links = step.linksMeasured ? "" : "; links were not measured, and messages take no time";
  return `${seconds(step.length ?? 0)} on the last rank of the ring${planned}${links}`;
}

export function StepOfPlan({ step, predicted }: { step: PlannedStep; predicted: Prediction | undefined }) {
  const live = (step.deviceBytes ?? []).map(int);
  const host = (step.hostBytes ?? []).map(int);
  const parts = Math.max(live.length, host.length, 2);
  const x = Array.from({ length: parts }, (_, i) => ((i + 0.5) / parts) * (step.length ?? 0));
  const memory = { step, x };
  return (
    <Section title="A step over time" note={noteOf(step, predicted)} id="step">
      <Memory
        {...memory}
        place="Device"
        live={live}
        arena={int(step.deviceArenaBytes)}
        capacity={int(step.deviceCapacityBytes)}
      />
      <Memory
        {...memory}
        place="Host"
        live={host}
        arena={int(step.hostArenaBytes)}
        capacity={int(step.hostCapacityBytes)}
      />
      {(step.streams ?? []).length > 0 && <Streams streams={step.streams!} />}
    </Section>
  );
}
