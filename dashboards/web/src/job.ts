// What a job's messages say about it together.
import type { Attempt, Job } from "./api/types";
import { int, real } from "./api/client";
import { meshSize, money, unix } from "./format";

export const newestAttempt = (job: Job): Attempt | undefined => job.attempts?.[job.attempts.length - 1];
export const isLive = (job: Job) =>
  ["JOB_STATE_PENDING", "JOB_STATE_STARTING", "JOB_STATE_RUNNING", "JOB_STATE_STOPPING"].includes(job.state);
export const isRunning = (job: Job) => job.state === "JOB_STATE_RUNNING" || job.state === "JOB_STATE_STOPPING";

export const modelOf = (job: Job) => job.spec?.model?.preset || job.spec?.model?.from?.split("/").pop() || "–";
export const contextOf = (job: Job) => Math.max(0, ...(job.spec?.stages ?? []).map((stage) => int(stage.context)));
export const devicesOf = (job: Job) => {
  const attempt = newestAttempt(job);
  return attempt ? meshSize(attempt.mesh) : (job.spec?.resources?.devices ?? 0);
};
export const lossOf = (job: Job) => (job.lastStep ? real(job.lastStep.loss) : undefined);
export const tokensPerSecond = (job: Job) => {
  const step = job.lastStep;
  return step?.seconds ? int(step.tokens) / step.seconds : undefined;
};

/** Seconds until the last step, at the pace of the last ones. */
export function remaining(job: Job): number | undefined {
  if (!isRunning(job) || !job.lastStep?.seconds) return undefined;
  const pace = newestAttempt(job)?.measuredStepSeconds || job.lastStep.seconds;
  return (int(job.numSteps) - int(job.lastStep.step)) * pace;
}

export function wallSeconds(job: Job): number | undefined {
  const begin = unix(job.attempts?.[0]?.started);
  if (!Number.isFinite(begin)) return undefined;
  return (job.ended ? unix(job.ended) : Date.now() / 1000) - begin;
}

export function costText(job: Job): string {
  const cost = job.cost;
  if (cost?.money) return money(cost.money, cost.currency);
  return cost?.kwh ? `${cost.kwh.toFixed(2)} kWh` : "–";
}
