import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock, count, grouped } from "../format";
import { useInks, type Inks } from "../theme";

export interface Line {
  label: string;
  color: string;
  values: (number | null)[];
  points?: boolean; // marks instead of a line
  dash?: boolean;
}

/** A vertical mark: a restart, a checkpoint, an alarm. */
export interface Mark {
  x: number;
  color: string;
  text: string;
}

export interface ChartProps {
  title: string;
  note?: string | undefined;
  x: number[];
  lines: Line[];
  text: (value: number) => string;
  xText?: (value: number) => string; // unless the axis has steps or time
  xName?: string; // likewise, unless it is time
  xTime?: boolean;
  stacked?: boolean;
  limit?: { value: number; label: string } | undefined;
  marks?: Mark[];
  binary?: boolean; // bytes: the axis has powers of two
  height?: number;
  sync?: string;
  zoomed?: boolean;
  onZoom?: ((from: number, to: number) => void) | undefined;
  onReset?: (() => void) | undefined;
}

/** Sums from the first line up; a gap in one is nothing. */
function sums(lines: Line[]): (number | null)[][] {
  const total: number[] = [];
  return lines.map((line) => line.values.map((value, i) => (total[i] = (total[i] ?? 0) + (value ?? 0))));
}

/** The largest sum is drawn first, so that the others lie upon it. */
function dataOf(props: ChartProps): uPlot.AlignedData {
  const rows = props.stacked ? sums(props.lines).reverse() : props.lines.map((line) => line.values);
  return [props.x, ...rows] as uPlot.AlignedData;
}

/** The value of the drawn line `i` under the cursor, or its last; in a stack not the sum. */
function valueAt(latest: { current: ChartProps }, i: number) {
  return (_: uPlot, __: number | null, ___: number, index: number | null) => {
    const { lines, stacked, text } = latest.current;
    const values = lines[stacked ? lines.length - 1 - i : i]?.values ?? [];
    const value = index === null ? values.findLast((one) => one !== null) : values[index];
    return value === null || value === undefined ? "–" : text(value);
  };
}

function seriesOf(latest: { current: ChartProps }): uPlot.Series[] {
  const props = latest.current;
  const lines = props.stacked ? [...props.lines].reverse() : props.lines;
  return lines.map((line, i) => ({
    label: line.label,
    stroke: line.color,
    width: props.stacked ? 0.5 : 1.5,
    ...(line.dash ? { dash: [5, 4] } : {}),
    ...(props.stacked ? { fill: `${line.color}d0` } : {}),
    ...(line.points ? { paths: () => null } : {}),
    points: { show: line.points ?? false, size: 6, fill: line.color },
    spanGaps: true,
    value: valueAt(latest, i),
  }));
}

const kPowers = Array.from({ length: 60 }, (_, power) => 2 ** power);
/** 10.0k is 10k on an axis. */
const trimmed = (text: string) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

function axesOf(props: ChartProps, inks: Inks): uPlot.Axis[] {
  const common = {
    stroke: inks.faint,
    font: "11px system-ui, sans-serif",
    grid: { stroke: inks.grid, width: 1 },
    ticks: { stroke: inks.grid, size: 4 },
  };
  const xText = props.xText ?? ((v: number) => (v >= 10_000 ? trimmed(count(v)) : String(v)));
  return [
    { ...common, size: 26, ...(props.xTime ? {} : { values: (_: uPlot, at: number[]) => at.map(xText) }) },
    {
      ...common,
      size: 58,
      values: (_: uPlot, at: number[]) => at.map((v) => (v === null ? "" : trimmed(props.text(v)))),
      ...(props.binary ? { incrs: kPowers } : {}),
    },
  ];
}

function drawLines(plot: uPlot, props: ChartProps, inks: Inks) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const mark of props.marks ?? []) {
    const x = Math.round(plot.valToPos(mark.x, "x", true)) + 0.5;
    line(ctx, mark.color, x, bbox.top, x, bbox.top + bbox.height);
    ctx.fillStyle = mark.color;
    ctx.fillRect(x - 2.5 * devicePixelRatio, bbox.top, 5 * devicePixelRatio, 5 * devicePixelRatio);
  }
  if (props.limit) {
    const y = Math.round(plot.valToPos(props.limit.value, "y", true)) + 0.5;
    line(ctx, inks.alarm, bbox.left, y, bbox.left + bbox.width, y);
  }
  ctx.restore();
}

function line(ctx: CanvasRenderingContext2D, color: string, x0: number, y0: number, x1: number, y1: number) {
  ctx.strokeStyle = color;
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}

/** The first series is the axis itself: its legend has the place under the cursor, or the last one. */
function placeSeries(latest: { current: ChartProps }): uPlot.Series {
  const { xTime, xText, xName } = latest.current;
  const text = xTime ? (at: number) => clock(new Date(at * 1000).toISOString()) : (xText ?? grouped);
  const value = (_: uPlot, at: number | null) => {
    const place = at ?? latest.current.x.at(-1);
    return place === undefined ? "–" : text(place);
  };
  return { label: xName ?? (xTime || xText ? "time" : "step"), value };
}

/** Hooks and values read the properties of the latest rendering. */
function optionsOf(latest: { current: ChartProps }, inks: Inks, width: number): uPlot.Options {
  const props = latest.current;
  const floor = props.stacked || props.limit !== undefined;
  return {
    width,
    height: props.height ?? 190,
    scales: {
      x: { time: props.xTime ?? false },
      y: {
        ...(floor
          ? {
              range: (_: uPlot, __: number, max: number) =>
                [0, Math.max(max, latest.current.limit?.value ?? 0) * 1.06 || 1] as uPlot.Range.MinMax,
            }
          : {}),
      },
    },
    series: [placeSeries(latest), ...seriesOf(latest)],
    axes: axesOf(props, inks),
    cursor: {
      ...(props.sync ? { sync: { key: props.sync } } : {}),
      drag: { x: true, y: false, setScale: false },
      points: { size: 6 },
    },
    legend: { live: true },
    hooks: {
      draw: [(plot) => drawLines(plot, latest.current, inks)],
      setSelect: [
        (plot) => {
          const { left, width: wide } = plot.select;
          if (wide > 3) latest.current.onZoom?.(plot.posToVal(left, "x"), plot.posToVal(left + wide, "x"));
          plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        },
      ],
    },
  };
}

function useWidth() {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(ref.current!);
    return () => observer.disconnect();
  }, []);
  return { ref, width };
}

/** A chart of lines or of a stack over steps or time. It is made once per set of lines; new values move into it. */
export function Chart(props: ChartProps) {
  const inks = useInks();
  const { ref, width } = useWidth();
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const shape = useMemo(
    () => [props.title, props.stacked, props.xTime, ...props.lines.map((l) => l.label + l.color)].join("|"),
    [props.lines, props.title, props.stacked, props.xTime],
  );
  useEffect(() => {
    if (width === 0) return;
    plot.current = new uPlot(optionsOf(latest, inks, width), dataOf(latest.current), ref.current!);
    return () => plot.current?.destroy();
  }, [shape, inks, width]);
  useEffect(() => plot.current?.setData(dataOf(props)), [props.x, props.lines, props.marks]);
  return (
    <figure class="chart">
      <figcaption>
        <span class="title">{props.title}</span>
        {props.note && <span class="note">{props.note}</span>}
        {props.limit && <span class="limit">{props.limit.label}</span>}
        {props.zoomed && (
          <button class="quiet" onClick={props.onReset}>
            whole run
          </button>
        )}
      </figcaption>
      <div class="plot" ref={ref} onDblClick={props.onReset} />
    </figure>
  );
}
