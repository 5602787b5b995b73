import { useEffect, useState } from "preact/hooks";
import { int } from "../api/client";
import { readJob, useCluster } from "../api/live";
import type { Job } from "../api/types";
import { AlongChoice, Empty, Progress, Stat, State } from "../components/parts";
import { type Along, type Range, useCurves } from "../curves";
import {
  bytes,
  count,
  counted,
  fixed,
  grouped,
  meshText,
  orNone,
  percent,
  seconds,
  short,
  span,
  tokens,
} from "../format";
import * as of from "../job";
import { Charts } from "./run_charts";
import { Events, Findings, PlanAgainstReal } from "./run_facts";
import { Logs } from "./run_logs";
import { Ranks } from "./run_ranks";
import { Suites } from "./run_suites";

const kScalars = [
  "loss",
  "held_out_loss",
  "causal_mfu",
  "full_mfu",
  "hfu",
  "tokens_per_second",
  "seconds",
  "grad_norm",
  "learning_rate",
];

const isDrawn = (name: string) => kScalars.includes(name) || /^(phase|memory)\//.test(name);
const pickDrawn = (names: string[]) => names.filter(isDrawn);

/** The job with its placements, which events leave out: read again when it gets another attempt. */
function useJob(id: string, known: Job | undefined, generation: number): string {
  const [problem, setProblem] = useState("");
  const read = generation > 0; // the lists are there
  useEffect(() => {
    if (!read) return;
    const stop = new AbortController();
    readJob(id, stop.signal)
      .then(() => setProblem(""))
      .catch((error) => stop.signal.aborted || setProblem(error.message));
    return () => stop.abort();
  }, [id, known?.attempts?.length, known?.state, generation]);
  return problem;
}

function Numbers({ job }: { job: Job }) {
  const step = job.lastStep;
  const attempt = of.newestAttempt(job);
  const evaluation = job.lastEvaluation;
  return (
    <dl class="stats">
      <Stat
        name="Loss"
        value={orNone(of.lossOf(job), fixed(4))}
        note={evaluation ? `held out ${orNone(Number(evaluation.loss), fixed(4))}` : "nats per token"}
      />
      <Stat
        name="MFU"
        value={orNone(step?.causalMfu || undefined, percent)}
        note={`full ${orNone(step?.fullMfu || undefined, percent)}`}
      />
      <Stat
        name="Tokens/s"
        value={orNone(of.tokensPerSecond(job), count)}
        note={`${count(int(step?.tokensTotal))} trained`}
      />
      <Stat
        name="Step"
        value={orNone(step?.seconds, seconds)}
        note={`median ${orNone(attempt?.measuredStepSeconds || undefined, seconds)}`}
      />
      <Stat name="ETA" value={orNone(of.remaining(job), span)} note={`after ${orNone(of.wallSeconds(job), span)}`} />
      <Stat
        name="Cost"
        value={of.costText(job)}
        note={job.cost?.kgCo2 ? `${short(job.cost.kgCo2)} kg CO₂` : "so far"}
      />
    </dl>
  );
}

function Head({ job }: { job: Job }) {
  const attempt = of.newestAttempt(job);
  const facts = [
    of.modelOf(job),
    `${tokens(of.contextOf(job))} context`,
    meshText(attempt?.mesh ?? job.spec?.parallel),
    attempt ? `ZeRO ${attempt.zero ?? 0}` : "",
    job.spec?.precision ?? "",
    counted(of.devicesOf(job), "device"),
    attempt?.network ?? "",
  ].filter(Boolean);
  return (
    <>
      <div class="bar top">
        <h1>
          {job.spec?.name || job.id} <span class="id">{job.id}</span>
        </h1>
        <State of={job.state} />
        <Progress job={job} />
        <a class="button" href={`/runs/${job.id}/plan`}>
          Plan
        </a>
      </div>
      <p class="facts">
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
      </p>
      {job.failure && <p class="problem">{job.failure}</p>}
      {(job.blockingReasons ?? []).map((reason) => (
        <p key={reason} class="problem wait">
          {reason}
        </p>
      ))}
    </>
  );
}

export function Run({ id }: { id: string }) {
  const { jobs, nodes, generation, connection } = useCluster();
  const job = jobs.find((one) => one.id === id) ?? jobs.find((one) => one.id.startsWith(id));
  const problem = useJob(id, job, generation);
  const [along, setAlong] = useState<Along>("step");
  const [range, setRange] = useState<Range>();
  const version = generation > 0 ? `${generation} ${job?.lastEvaluation?.step ?? ""} ${job?.state}` : "";
  const curves = useCurves(job?.id ?? id, { pick: pickDrawn, range, version });
  useEffect(() => setRange(undefined), [id]);
  if (!job) {
    return (
      <main>
        <Empty>{problem || (connection === "connecting" ? "Reading the run…" : `There is no run ${id}.`)}</Empty>
      </main>
    );
  }
  const device = of.newestAttempt(job)?.placement?.[0];
  const owner = nodes.find((node) => node.id === device?.nodeId);
  const inventory = owner?.inventory?.devices?.find((one) => (one.index ?? 0) === (device?.device ?? 0));
  const capacity = int(inventory?.memoryBytes);
  return (
    <main>
      <Head job={job} />
      <Numbers job={job} />
      <div class="bar">
        <h2>Curves</h2>
        <AlongChoice value={along} onChange={setAlong} />
        {range ? (
          <span class="note">
            steps {grouped(range.from)} to {grouped(range.to)}{" "}
            <button class="quiet" onClick={() => setRange(undefined)}>
              whole run
            </button>
          </span>
        ) : (
          <span class="note">drag over a chart to zoom, double click for the whole run</span>
        )}
      </div>
      {curves.problem && <p class="problem">{curves.problem}</p>}
      <Charts job={job} curves={curves} along={along} range={range} onRange={setRange} capacity={capacity} />
      <Suites job={job} />
      {curves.loaded && <Ranks job={job} nodes={nodes} generation={generation} />}
      <div class="columns">
        <PlanAgainstReal job={job} capacity={capacity} capacityText={bytes(capacity)} />
        <Findings job={job} generation={generation} />
      </div>
      <Events job={job} />
      <Logs job={job} />
    </main>
  );
}
