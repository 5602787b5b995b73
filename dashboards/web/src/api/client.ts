import type { Double, Int64, StepsReply } from "./types";

/** What the API answered instead of a message. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

type Listener = () => void;
const loginListeners = new Set<Listener>();

/** Calls `listener` each time the API asks who we are. */
export function onLoginNeeded(listener: Listener): () => void {
  loginListeners.add(listener);
  return () => loginListeners.delete(listener);
}

async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    return new ApiError(response.status, JSON.parse(text).message ?? text);
  } catch {
    return new ApiError(response.status, text.trim() || response.statusText);
  }
}

export type Query = Record<string, string | number | undefined>;

export function urlOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join("&");
  return `/api/v1/${path}${text ? `?${text}` : ""}`;
}

export async function get<Reply>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Reply> {
  const response = await fetch(urlOf(path, query), { signal: signal ?? null });
  if (response.ok) return response.json();
  if (response.status === 401) loginListeners.forEach((listener) => listener());
  throw await errorOf(response);
}

/** Every page of a list: `take` keeps what it needs of each. */
export async function getPages<Reply extends { nextPageToken?: string }>(
  path: string,
  query: Query,
  take: (reply: Reply) => void,
  signal?: AbortSignal,
): Promise<void> {
  for (let token: string | undefined = ""; token !== undefined;) {
    const reply: Reply = await get<Reply>(path, { ...query, page_token: token }, signal);
    take(reply);
    token = reply.nextPageToken || undefined;
  }
}

async function post(path: string, headers: Record<string, string>): Promise<void> {
  const response = await fetch(urlOf(path), { method: "POST", headers: { "X-Ringmaster": "1", ...headers } });
  if (!response.ok) throw await errorOf(response);
}

// The cookie is out of reach of scripts, so a mark says that there is one.
const kLoggedIn = "ringmaster-logged-in";

export async function logIn(token: string): Promise<void> {
  await post("login", { Authorization: `Bearer ${token.trim()}` });
  localStorage.setItem(kLoggedIn, "yes");
}

export async function logOut(): Promise<void> {
  await post("logout", {});
  localStorage.removeItem(kLoggedIn);
}

export const isLoggedIn = () => localStorage.getItem(kLoggedIn) !== null;

/** The number in a 64-bit field; those that we draw are below 2^53. */
export const int = (value: Int64 | undefined): number => Number(value ?? 0);
/** The number in a double; null where there is none to draw. */
export function real(value: Double | undefined): number | null {
  const number = Number(value ?? 0);
  return Number.isFinite(number) ? number : null;
}

/** Unknown times, which are 0, as the last known one before. */
function filled(times: number[]): number[] {
  let last = times.find((time) => time > 0) ?? 0;
  return times.map((time) => (last = time > 0 ? time : last));
}

/** A curve in the form that charts draw: numbers, null where a value is not finite. */
export interface Series {
  quantity: string;
  unit: string;
  rank: number;
  steps: number[];
  times: number[];
  values: (number | null)[];
}

/** The names of the quantities that the job has curves of. */
export async function getQuantities(job: string, signal?: AbortSignal): Promise<string[]> {
  return (await get<StepsReply>(`jobs/${job}/steps`, {}, signal)).quantities ?? [];
}

export interface StepsQuestion {
  quantities: string[];
  ranks?: string; // "0", "0,3" or "all"
  maxPoints?: number;
  from?: number | undefined; // steps
  to?: number | undefined;
}

export async function getSteps(job: string, question: StepsQuestion, signal?: AbortSignal): Promise<Series[]> {
  const query = {
    quantity: question.quantities.join(","),
    rank: question.ranks ?? "0",
    max_points: question.maxPoints ?? 1200,
    from: question.from,
    to: question.to,
  };
  const series: Series[] = [];
  await getPages<StepsReply>(
    `jobs/${job}/steps`,
    query,
    (reply) => {
      for (const curve of reply.curves ?? []) {
        series.push({
          quantity: curve.quantity,
          unit: curve.unit ?? "",
          rank: curve.rank ?? 0,
          steps: (curve.steps ?? []).map(Number),
          times: filled((curve.times ?? []).map(Number)),
          values: (curve.values ?? []).map(real),
        });
      }
    },
    signal,
  );
  return series;
}
