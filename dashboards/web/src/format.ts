// Numbers as people read them.
import type { Int64, Mesh, Timestamp } from "./api/types";
import { int } from "./api/client";

const kNone = "–";

function scaled(value: number, base: number, units: string[]): string {
  let unit = 0;
  let rest = value;
  while (Math.abs(rest) >= base * 0.9995 && unit < units.length - 1) {
    rest /= base;
    ++unit;
  }
  const digits = Math.abs(rest) >= 100 || (unit === 0 && Number.isInteger(rest)) ? 0 : Math.abs(rest) >= 10 ? 1 : 2;
  return `${rest.toFixed(digits)}${units[unit]}`;
}

export const count = (value: number) => scaled(value, 1000, ["", "k", "M", "G", "T", "P"]);
export const bytes = (value: number) => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
/** Tokens of a context or batch: K is 2^10. */
export const tokens = (value: number) => scaled(value, 1024, ["", "K", "M"]).replace(/\.00?(?=[KM]|$)/, "");
export const percent = (value: number) => `${(value * 100).toFixed(value < 0.1 ? 2 : 1)}%`;
export const fixed = (digits: number) => (value: number) => value.toFixed(digits);
export const grouped = (value: number) => Math.round(value).toLocaleString("en-US");
export const money = (value: number, currency: string | undefined) =>
  `${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })} ${currency || "USD"}`;
export const gbit = (value: number) => `${value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2)}`;

export const counted = (value: number, what: string) => `${grouped(value)} ${what}${value === 1 ? "" : "s"}`;

/** Three significant digits, or so: of a learning rate, of a gradient's norm. */
export function short(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e5) return value.toExponential(2).replace("e-0", "e-");
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toPrecision(3);
}

export function seconds(value: number): string {
  if (!Number.isFinite(value)) return kNone;
  if (value === 0) return "0 s";
  if (value < 1e-3) return `${(value * 1e6).toFixed(0)} µs`;
  if (value < 1) return `${(value * 1e3).toFixed(value < 0.01 ? 2 : value < 0.1 ? 1 : 0)} ms`;
  return value < 100 ? `${value.toFixed(value < 10 ? 2 : 1)} s` : span(value);
}

/** 2 h 05 m: of ages and of times to go. */
export function span(value: number): string {
  if (!Number.isFinite(value) || value < 0) return kNone;
  const whole = Math.round(value);
  const [d, h, m] = [Math.floor(whole / 86400), Math.floor((whole % 86400) / 3600), Math.floor((whole % 3600) / 60)];
  const two = (part: number) => String(part).padStart(2, "0");
  if (d > 0) return `${d} d ${two(h)} h`;
  if (h > 0) return `${h} h ${two(m)} m`;
  return m > 0 ? `${m} m ${two(whole % 60)} s` : `${whole} s`;
}

export const unix = (time: Timestamp | undefined) => (time ? Date.parse(time) / 1000 : NaN);

export function clock(time: Timestamp | undefined): string {
  if (!time) return kNone;
  const date = new Date(time);
  const two = (part: number) => String(part).padStart(2, "0");
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  );
}

export function age(time: Timestamp | undefined): string {
  return time ? span(Math.max(0, Date.now() / 1000 - unix(time))) : kNone;
}

/** "data 2 × ring 4", as the command line says it. */
export function meshText(mesh: Mesh | undefined): string {
  if (!mesh) return kNone;
  const axes = (["data", "ring", "ulysses", "tensor"] as const)
    .filter((axis) => (mesh[axis] ?? 1) > 1)
    .map((axis) => `${axis} ${mesh[axis]}`);
  return axes.length > 0 ? axes.join(" × ") : "1 rank";
}

export const meshSize = (mesh: Mesh | undefined) =>
  (mesh?.data ?? 1) * (mesh?.ring ?? 1) * (mesh?.ulysses ?? 1) * (mesh?.tensor ?? 1);

export const orNone = (value: number | undefined | null, text: (value: number) => string) =>
  value === undefined || value === null || !Number.isFinite(value) ? kNone : text(value);

export const int64 = (value: Int64 | undefined) => grouped(int(value));
export const words = (enumerator: string) => enumerator.replace(/^[A-Z]+_STATE_/, "").toLowerCase();
