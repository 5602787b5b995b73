import { useEffect, useRef, useState } from "preact/hooks";
import { heat, useInks } from "../theme";

export interface HeatMapProps {
  rows: number;
  columns: number;
  /** 0 to 1 for the colour; null: nothing is known. Another function means another picture. */
  shade: (row: number, column: number) => number | null;
  describe: (row: number, column: number) => string;
  rowLabel?: (row: number) => string;
  /** Rows to mark at the left, and cells to frame, with a colour. */
  markedRows?: Map<number, string>;
  frames?: { row: number; column: number; color: string; round?: boolean }[];
  rowHeight?: number | undefined;
  label: string; // of the whole, for readers of the screen
  onPick?: (row: number, column: number) => void;
}

/** One pixel per cell, which the browser scales up without smoothing. */
function paint(canvas: HTMLCanvasElement, props: HeatMapProps, empty: string) {
  canvas.width = props.columns;
  canvas.height = props.rows;
  const ctx = canvas.getContext("2d")!;
  const blank = [1, 3, 5].map((at) => parseInt(empty.slice(at, at + 2), 16)); // #rrggbb
  const image = ctx.createImageData(props.columns, props.rows);
  for (let row = 0, at = 0; row < props.rows; ++row) {
    for (let column = 0; column < props.columns; ++column, at += 4) {
      const shade = props.shade(row, column);
      const [r, g, b] = shade === null ? [blank[0]!, blank[1]!, blank[2]!] : heat(shade);
      image.data.set([r, g, b, 255], at);
    }
  }
  ctx.putImageData(image, 0, 0);
}

export function HeatMap(props: HeatMapProps) {
  const inks = useInks();
  const ref = useRef<HTMLCanvasElement>(null);
  const [cell, setCell] = useState<[number, number]>();
  useEffect(() => paint(ref.current!, props, inks.grid), [props.shade, props.rows, props.columns, inks]);
  const height = props.rows * (props.rowHeight ?? Math.max(1, Math.min(18, Math.round(320 / Math.max(props.rows, 1)))));
  const cellAt = (event: MouseEvent): [number, number] => {
    const box = ref.current!.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * props.rows);
    const column = Math.floor(((event.clientX - box.left) / box.width) * props.columns);
    return [Math.min(Math.max(row, 0), props.rows - 1), Math.min(Math.max(column, 0), props.columns - 1)];
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const move: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    };
    const by = move[event.key];
    if (event.key === "Enter" && cell) props.onPick?.(...cell);
    if (!by) return;
    event.preventDefault();
    const [row, column] = cell ?? [0, 0];
    setCell([
      Math.min(Math.max(row + by[0], 0), props.rows - 1),
      Math.min(Math.max(column + by[1], 0), props.columns - 1),
    ]);
  };
  const part = (of: number, all: number) => `${(of / all) * 100}%`;
  const frame = (row: number, column: number, color: string, kind: string) => (
    <i
      class={`frame ${kind}`}
      style={{
        top: part(row, props.rows),
        left: part(column, props.columns),
        width: part(1, props.columns),
        height: part(1, props.rows),
        borderColor: color,
        "--ring": color,
      }}
    />
  );
  const labels = props.rowLabel && height / props.rows >= 11;
  return (
    <div class="heat">
      <div class="cells" style={{ height: `${height}px` }}>
        {labels && (
          <ol class="rowLabels">
            {Array.from({ length: props.rows }, (_, row) => (
              <li key={row} style={{ color: props.markedRows?.get(row) ?? "" }}>
                {props.rowLabel!(row)}
              </li>
            ))}
          </ol>
        )}
        <div class="canvas">
          <canvas
            ref={ref}
            role="img"
            tabIndex={0}
            aria-label={props.label}
            onMouseMove={(event) => setCell(cellAt(event))}
            onMouseLeave={() => setCell(undefined)}
            onClick={(event) => props.onPick?.(...cellAt(event))}
            onKeyDown={onKeyDown}
          />
          {[...(props.markedRows ?? [])].map(([row, color]) => (
            <i class="rowMark" style={{ top: part(row, props.rows), height: part(1, props.rows), background: color }} />
          ))}
          {(props.frames ?? []).map((one) => frame(one.row, one.column, one.color, one.round ? "round" : ""))}
          {cell && cell[0] < props.rows && cell[1] < props.columns && frame(cell[0], cell[1], inks.text, "cursor")}
        </div>
      </div>
      <p class="readout" aria-live="polite">
        {cell && cell[0] < props.rows && cell[1] < props.columns ? props.describe(...cell) : "\u00a0"}
      </p>
    </div>
  );
}

/** The colours of a heat map with its ends named. */
export function HeatScale({ low, high }: { low: string; high: string }) {
  const ref = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const ctx = ref.current!.getContext("2d")!;
    for (let x = 0; x < 64; ++x) {
      ctx.fillStyle = `rgb(${heat(x / 63).join(",")})`;
      ctx.fillRect(x, 0, 1, 1);
    }
  }, []);
  return (
    <span class="scale">
      {low}
      <canvas ref={ref} width={64} height={1} />
      {high}
    </span>
  );
}
