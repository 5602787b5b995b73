// The cluster as the page knows it: read once, then kept up to date by server-sent events.
import { useEffect, useState } from "preact/hooks";
import { ApiError, get, getPages, onLoginNeeded } from "./client";
import type { EvaluationReport, Job, JobsReply, Node, NodesReply, StepReport, SuiteReport } from "./types";

export type Connection = "connecting" | "live" | "lost" | "login";

const kPause = 2000; // milliseconds
const kUnseen = 30_000;

type Watcher = () => void;
type StepWatcher = (job: string, step: StepReport) => void;

const watchers = new Set<Watcher>();
const stepWatchers = new Set<StepWatcher>();
const jobs = new Map<string, Job>();
const nodes = new Map<string, Node>();
let connection: Connection = "connecting";
let problem = "";
let generation = 0; // of the lists: what hangs on missed events reads again
let events: EventSource | undefined;
let scheduled = false;
let unseen: ReturnType<typeof setTimeout> | undefined;

/** Redraws at most once per frame. */
function changed() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    watchers.forEach((watcher) => watcher());
  });
}

function setConnection(now: Connection, why = "") {
  connection = now;
  problem = why;
  changed();
}

/** Events leave the placements out; those that we have read stay. */
function mergeJob(update: Job) {
  const known = jobs.get(update.id);
  for (const attempt of update.attempts ?? []) {
    const before = known?.attempts?.find((other) => other.epoch === attempt.epoch);
    if (before?.placement && !attempt.placement) attempt.placement = before.placement;
  }
  if (known?.lastSuites && !update.lastSuites) update.lastSuites = known.lastSuites; // lists have none
  jobs.set(update.id, update);
}

/** The live jobs, the newest of the others, and the nodes; the page of history has all jobs. */
async function readAll() {
  const [live, freshNodes]: [Job[], Node[]] = [[], []];
  const [newest] = await Promise.all([
    get<JobsReply>("jobs"),
    getPages<JobsReply>("jobs", { ended: "no" }, (reply) => live.push(...(reply.jobs ?? []))),
    getPages<NodesReply>("nodes", {}, (reply) => freshNodes.push(...(reply.nodes ?? []))),
  ]);
  jobs.clear();
  nodes.clear();
  [...(newest.jobs ?? []), ...live].forEach(mergeJob);
  freshNodes.forEach((node) => nodes.set(node.id, node));
  ++generation;
  setConnection("live");
}

/** Reads a job that is not among the newest. */
export async function readJob(id: string, signal?: AbortSignal): Promise<void> {
  mergeJob(await get<Job>(`jobs/${id}`, {}, signal));
  changed();
}

/** The stream has begun, or has lost messages: whatever changes from here on comes as an event. */
async function reset() {
  try {
    await readAll();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return;
    setConnection("lost", String(error instanceof Error ? error.message : error));
  }
}

function onStep(data: { jobId: string; step: StepReport }) {
  const job = jobs.get(data.jobId);
  if (job) job.lastStep = data.step;
  stepWatchers.forEach((watcher) => watcher(data.jobId, data.step));
  changed();
}

function onEvaluation(data: { jobId: string; evaluation: EvaluationReport }) {
  const job = jobs.get(data.jobId);
  if (job) job.lastEvaluation = data.evaluation;
  changed();
}

function onSuite(data: { jobId: string; suite: SuiteReport }) {
  const job = jobs.get(data.jobId);
  if (job) job.lastSuites = [...(job.lastSuites ?? []).filter((one) => one.name !== data.suite.name), data.suite];
  changed();
}

function onNode(data: { node: Node }) {
  const lastSeen = nodes.get(data.node.id)?.lastSeen;
  nodes.set(data.node.id, lastSeen ? { ...data.node, lastSeen } : data.node);
  changed();
}

/** Opens the stream; the browser connects again by itself and says which event it got last. */
function open() {
  events?.close();
  events = new EventSource("/api/v1/stream");
  const on = <Data>(name: string, handle: (data: Data) => void) =>
    events!.addEventListener(name, (event) => handle(JSON.parse((event as MessageEvent<string>).data)));
  on("reset", () => void reset());
  on("job", (data: { job: Job }) => (mergeJob(data.job), changed()));
  on("step", onStep);
  on("evaluation", onEvaluation);
  on("suite", onSuite);
  on("node", onNode);
  events.onopen = () => connection === "lost" && setConnection("live");
  events.onerror = onError;
}

/** After an answer other than 200 the browser gives up: ask why, and try again. */
function onError() {
  if (connection === "login") return;
  setConnection("lost", "no answer from the controller; trying again");
  if (events?.readyState !== EventSource.CLOSED) return;
  void reset().then(() => setTimeout(() => connection !== "login" && start(), kPause));
}

/** Opens the stream, whose first event makes the page read everything. */
export const start = open;

/** A hidden page lets go of its stream: a browser has few connections for all its pages of one server. */
document.addEventListener("visibilitychange", () => {
  clearTimeout(unseen);
  if (document.visibilityState === "hidden") unseen = setTimeout(() => events?.close(), kUnseen);
  else if (events?.readyState === EventSource.CLOSED && connection !== "login") open();
});

/** Without a credential the API asks for a login; a new one starts again. */
onLoginNeeded(() => {
  events?.close();
  setConnection("login");
});

export const startAgain = () => (setConnection("connecting"), start());

export interface Cluster {
  jobs: Job[]; // newest first
  nodes: Node[];
  connection: Connection;
  problem: string;
  generation: number;
}

const snapshot = (): Cluster => ({
  jobs: [...jobs.values()].sort((a, b) => (b.submitted ?? "").localeCompare(a.submitted ?? "")),
  nodes: [...nodes.values()],
  connection,
  problem,
  generation,
});

export function useCluster(): Cluster {
  const [state, setState] = useState(snapshot);
  useEffect(() => {
    const watcher = () => setState(snapshot());
    watchers.add(watcher);
    watcher();
    return () => void watchers.delete(watcher);
  }, []);
  return state;
}

/** Calls `watcher` for each live step of the job. */
export function useSteps(job: string, watcher: (step: StepReport) => void) {
  useEffect(() => {
    const chosen: StepWatcher = (id, step) => id === job && watcher(step);
    stepWatchers.add(chosen);
    return () => void stepWatchers.delete(chosen);
  }, [job, watcher]);
}
