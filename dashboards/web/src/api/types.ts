// The messages of ringmaster/v1 by protobuf's rules for JSON: names in camelCase, 64-bit integers as strings, enums as
// their names, and fields at their default are absent.

/** A 64-bit integer, in decimal digits. */
export type Int64 = string;
/** A double: JSON has no number for NaN and the infinities. */
export type Double = number | "NaN" | "Infinity" | "-Infinity";
/** RFC 3339, UTC. */
export type Timestamp = string;

export interface Mesh {
  data?: number;
  ring?: number;
  ulysses?: number;
  tensor?: number;
  innerRing?: number;
}

export interface Stage {
  context?: Int64;
  batch?: Int64;
  tokens?: Int64;
  learningRate?: number;
}

export interface JobSpec {
  name?: string;
  model?: { preset?: string; from?: string };
  stages?: Stage[];
  parallel?: Mesh;
  precision?: string;
  resources?: { devices?: number; kind?: string; maxCostUsd?: number };
  yaml?: string;
}

export type JobState =
  | "JOB_STATE_PENDING"
  | "JOB_STATE_STARTING"
  | "JOB_STATE_RUNNING"
  | "JOB_STATE_STOPPING"
  | "JOB_STATE_SUCCEEDED"
  | "JOB_STATE_FAILED"
  | "JOB_STATE_CANCELLED";

export interface StepReport {
  step?: Int64;
  numSteps?: Int64;
  stage?: number;
  tokens?: Int64;
  tokensTotal?: Int64;
  loss?: Double;
  gradNorm?: Double;
  learningRate?: number;
  seconds?: number;
  causalMfu?: number;
  fullMfu?: number;
  hfu?: number;
  peakName?: string;
  phaseSeconds?: Record<string, number>;
  memoryBytes?: Record<string, Int64>;
  axes?: Record<string, { bytesSent?: Int64; waitSeconds?: number }>;
  lastCollective?: string;
  time?: Timestamp;
  divergedAbove?: number;
}

/** Of targets with so many tokens of their document before them, up to the next entry's. */
export interface PositionLoss {
  fromTokens?: Int64;
  targets?: Int64;
  loss?: Double;
}

/** Right answers to the texts of one kind that a suite made. */
export interface SuiteCell {
  task?: string;
  length?: Int64;
  depth?: number; // -1: none
  samples?: Int64;
  score?: number;
  loss?: number;
}

export interface SuiteReport {
  step?: Int64;
  suite?: string;
  name?: string;
  trainedContext?: Int64;
  effectiveLength?: Int64;
  seconds?: number;
  cells?: SuiteCell[];
}

export interface EvaluationReport {
  step?: Int64;
  loss?: Double;
  unigramEntropy?: number;
  bigramEntropy?: number;
  byPosition?: PositionLoss[];
}

export interface RunCost {
  seconds?: number;
  money?: number;
  currency?: string;
  kwh?: number;
  kgCo2?: number;
}

export interface MemoryPolicy {
  tileTokens?: Int64;
  chunkTokens?: Int64;
  keep?: string;
  alpha?: number;
  kept?: string;
  working?: string;
  prefetch?: number;
  device?: Int64;
  host?: Int64;
  keepEvery?: number;
  keepPrecision?: string;
}

export interface PlacedRank {
  nodeId?: string;
  device?: number;
  coordinates?: { data?: number; ring?: number; ulysses?: number; tensor?: number };
}

export interface Prediction {
  stepSeconds?: number;
  allSeconds?: number;
  deviceBytes?: Int64;
  hostBytes?: Int64;
  correction?: number;
}

export interface Attempt {
  epoch: Int64;
  state: string;
  mesh?: Mesh;
  placement?: PlacedRank[];
  started?: Timestamp;
  ended?: Timestamp;
  cause?: string;
  lastCheckpointStep?: Int64;
  lastCheckpointPath?: string;
  zero?: number;
  memory?: MemoryPolicy;
  failureClass?: string;
  lastStep?: StepReport;
  network?: string;
  energyJoules?: number;
  predicted?: Prediction;
  cost?: RunCost;
  measuredStepSeconds?: number;
}

export interface Alarm {
  epoch?: Int64;
  time?: Timestamp;
  text?: string;
}

export interface Job {
  id: string;
  owner?: string;
  project?: string;
  spec?: JobSpec;
  state: JobState;
  submitted?: Timestamp;
  ended?: Timestamp;
  blockingReasons?: string[];
  failure?: string;
  attempts?: Attempt[];
  lastStep?: StepReport;
  lastEvaluation?: EvaluationReport;
  lastSuites?: SuiteReport[];
  numSteps?: Int64;
  continues?: string;
  alarms?: Alarm[];
  cost?: RunCost;
}

export interface JobsReply {
  jobs?: Job[];
  nextPageToken?: string;
}

export interface Device {
  index?: number;
  kind?: string;
  memoryBytes?: Int64;
  bf16?: { flops?: number; name?: string };
  unfit?: string;
  lost?: boolean;
  hostMemoryBytes?: Int64;
}

export interface Node {
  id: string;
  state: "NODE_STATE_READY" | "NODE_STATE_UNREACHABLE" | "NODE_STATE_GONE";
  sessionUp?: boolean;
  inventory?: {
    hostname?: string;
    os?: string;
    cpuModel?: string;
    cores?: number;
    memoryBytes?: Int64;
    devices?: Device[];
    dataAddress?: string;
    software?: { driver?: string; cuda?: string; nccl?: string };
  };
  busyDevices?: number[];
  joined?: Timestamp;
  lastSeen?: Timestamp;
  build?: string;
  drained?: string;
}

export interface NodesReply {
  nodes?: Node[];
  nextPageToken?: string;
}

/** One quantity of one rank; the three lists have one length. */
export interface Curve {
  quantity: string;
  unit?: string;
  rank?: number;
  steps?: Int64[];
  times?: Double[]; // Unix seconds
  values?: Double[];
}

export interface StepsReply {
  curves?: Curve[];
  nextPageToken?: string;
  quantities?: string[]; // that rank 0 has
  ranks?: number[]; // that have curves
}

export interface Finding {
  kind?: "INFO" | "BLOCKING" | "PROBLEM";
  subject?: string;
  text?: string;
  remedy?: string;
}

export interface ExplainReply {
  findings?: Finding[];
}

export interface LogPiece {
  offset?: Int64;
  data?: string; // base64
  dropped?: Int64;
  time?: Timestamp;
}

export interface LogsReply {
  pieces?: LogPiece[];
}

export interface NodeLink {
  from: string;
  to: string;
  bandwidth?: number; // Gbit/s
  flow?: number;
  latency?: number; // seconds
  jitter?: number;
  loss?: number;
  measured?: Timestamp;
  alone?: boolean;
  baseline?: number;
  degraded?: Timestamp;
}

export interface SurveyedNode {
  id: string;
  hostname?: string;
  egress?: number;
  ingress?: number;
  group?: number;
}

export interface LinksReply {
  nodes?: SurveyedNode[];
  links?: NodeLink[];
  cables?: { name?: string; from?: string[]; to?: string[]; bandwidth?: number }[];
  survey?: { running?: Int64; last?: Int64; pending?: boolean; measuredLinks?: number; failedProbes?: number };
  nextPageToken?: string;
}

export interface LinkSample {
  survey?: Int64;
  time?: Timestamp;
  bandwidth?: number;
  latency?: number;
}

export interface LinkHistoryReply {
  samples?: LinkSample[];
}

export interface OrderCost {
  ranks?: PlacedRank[];
  seconds?: number;
  phases?: { seconds?: number; slowest?: string }[];
}

export interface PlacementReply {
  jobId?: string;
  attempt?: Int64;
  placement?: {
    mesh?: Mesh;
    zero?: number;
    hosts?: { node?: string; hostname?: string }[];
    predicted?: boolean;
    phases?: { axis?: string; pattern?: string; bytes?: Int64; hiddenSeconds?: number }[];
    placed?: OrderCost;
    registration?: OrderCost;
    byNode?: OrderCost;
    degraded?: { from?: string; to?: string; bandwidth?: number; baseline?: number }[];
  };
  unsurveyed?: string[];
}

export interface TopRank {
  rank?: number;
  hostname?: string;
  device?: number;
  deviceMemoryBytes?: Int64;
  phase?: string;
  step?: Int64;
  stepSeconds?: number;
  waitSeconds?: number;
  ringWaitSeconds?: number;
  causalMfu?: number;
  deviceBytes?: Int64;
  hostBytes?: Int64;
  quietSeconds?: number;
  gpu?: { temperatureCelsius?: number; watts?: number; throttled?: string };
}

export interface TopReply {
  jobs?: { ranks?: TopRank[] }[];
}

/** A step of a plan; lists have an entry for each of as many equal parts of its time. */
export interface PlannedStep {
  timed?: boolean;
  length?: number; // seconds, or requests of buffers
  linksMeasured?: boolean;
  kind?: string;
  deviceCapacityBytes?: Int64;
  hostCapacityBytes?: Int64;
  stateBytes?: Record<string, Int64>;
  heldBytes?: Int64;
  deviceArenaBytes?: Int64;
  hostArenaBytes?: Int64;
  deviceBytes?: Int64[];
  hostBytes?: Int64[];
  streams?: { name?: string; busy?: number[] }[];
}

export interface RankedMesh {
  mesh?: Mesh;
  zero?: number;
  chosen?: boolean;
  predicted?: Prediction;
  memory?: MemoryPolicy;
  causalMfu?: number;
  fp8Mfu?: number;
  cost?: RunCost;
  passedOver?: string;
}

export interface MeshRanking {
  basis?: string;
  kind?: string;
  devices?: number;
  considered?: number;
  meshes?: RankedMesh[];
  reasons?: string[];
}

export interface PlanDetailReply {
  jobId?: string;
  attempt?: Int64;
  predicted?: Prediction;
  step?: PlannedStep;
  ranking?: MeshRanking;
}
