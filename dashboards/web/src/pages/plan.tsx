import { useEffect, useState } from "preact/hooks";
import { get, int } from "../api/client";
import { readJob, useCluster } from "../api/live";
import type { Attempt, Job, Node, OrderCost, PlacementReply, PlanDetailReply } from "../api/types";
import { Empty, Section, Stat, State } from "../components/parts";
import { bytes, counted, meshText, orNone, seconds, span, tokens } from "../format";
import * as of from "../job";
import { memoryColor } from "../theme";
import { Meshes } from "./plan_meshes";
import { StepOfPlan } from "./plan_step";
import { rowsOf } from "./run_facts";

/** A bar of memory by kind against what the device has. */
function MemoryBar({
  name,
  kinds,
  capacity,
  planned,
}: {
  name: string;
  kinds: [string, number][];
  capacity: number;
  planned: number;
}) {
  const used = kinds.reduce((sum, [, size]) => sum + size, 0);
  const whole = Math.max(used, planned, used > capacity / 20 ? capacity : 0) || 1;
  return (
    <div class="memory">
      <p>
        <b>{name}</b> {bytes(used)} in use{planned > 0 && `, ${bytes(planned)} planned`}
        {capacity > 0 && `, ${bytes(capacity)} there`}
      </p>
      <div class="stack" role="img" aria-label={kinds.map(([kind, size]) => `${kind} ${bytes(size)}`).join(", ")}>
        {kinds.map(([kind, size], i) => (
          <i
            key={kind}
            style={{ width: `${(size / whole) * 100}%`, background: memoryColor(kind, i) }}
            title={`${kind} ${bytes(size)}`}
          />
        ))}
        {planned > 0 && <b style={{ left: `${(planned / whole) * 100}%` }} title={`planned ${bytes(planned)}`} />}
      </div>
      <ul class="legend">
        {kinds.map(([kind, size], i) => (
          <li key={kind}>
            <i class="swatch" style={{ background: memoryColor(kind, i) }} /> {kind}{" "}
            <span class="num">{bytes(size)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Memory({ job, attempt, nodes }: { job: Job; attempt: Attempt; nodes: Node[] }) {
  const kinds = Object.entries(job.lastStep?.memoryBytes ?? {})
    .map(([kind, size]): [string, number] => [kind, int(size)])
    .filter(([, size]) => size > 0)
    .sort((a, b) => b[1] - a[1]);
  const device = kinds.filter(([kind]) => !kind.startsWith("host "));
  const host = kinds.filter(([kind]) => kind.startsWith("host "));
  const place = attempt.placement?.[0];
  const node = nodes.find((one) => one.id === place?.nodeId);
  const info = node?.inventory?.devices?.find((one) => (one.index ?? 0) === (place?.device ?? 0));
  const policy = attempt.memory;
  const facts: [string, string][] = [
    [
      "Keeps for the backward pass",
      `${policy?.keep ?? "–"}${policy?.keepPrecision && policy.keepPrecision !== "compute" ? `, in ${policy.keepPrecision}` : ""}`,
    ],
    ["Share of it kept", orNone(policy?.alpha, (value) => `${(value * 100).toFixed(0)}%`)],
    ["Kept on", policy?.kept ?? "–"],
    ["Working set", policy?.working ?? "–"],
    ["Tile", `${tokens(int(policy?.tileTokens))} tokens`],
    ["Chunk", `${tokens(int(policy?.chunkTokens))} tokens`],
    ["Fetches ahead", String(policy?.prefetch ?? 0)],
    ["Whole layers kept", policy?.keepEvery && policy.keepEvery > 1 ? `every ${policy.keepEvery}th` : "each"],
  ];
  return (
    <Section title="Memory" note="rank 0, by kind">
      {device.length > 0 ? (
        <MemoryBar
          name="Device"
          kinds={device}
          capacity={int(info?.memoryBytes)}
          planned={int(attempt.predicted?.deviceBytes)}
        />
      ) : (
        <Empty>The first step says what is in use.</Empty>
      )}
      {host.length > 0 && (
        <MemoryBar
          name="Host"
          kinds={host}
          capacity={int(info?.hostMemoryBytes ?? node?.inventory?.memoryBytes)}
          planned={int(attempt.predicted?.hostBytes)}
        />
      )}
      <dl class="pairs">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

const kOrders: readonly (readonly ["placed" | "registration" | "byNode", string])[] = [
  ["placed", "as placed"],
  ["registration", "as the nodes registered"],
  ["byNode", "by the nodes' names"],
];

function Orders({ placement }: { placement: NonNullable<PlacementReply["placement"]> }) {
  const orders = kOrders
    .map(([key, name]) => ({ name, cost: placement[key] }))
    .filter((one): one is { name: string; cost: OrderCost } => one.cost?.seconds !== undefined);
  const longest = Math.max(...orders.map((one) => one.cost.seconds!));
  return (
    <ul class="bars">
      {orders.map((one) => (
        <li key={one.name}>
          <span>{one.name}</span>
          <span class="bar">
            <i style={{ width: `${(one.cost.seconds! / longest) * 100}%` }} />
          </span>
          <span class="num">{seconds(one.cost.seconds!)}</span>
        </li>
      ))}
    </ul>
  );
}

function Communication({ id, epoch, generation }: { id: string; epoch: string; generation: number }) {
  const [reply, setReply] = useState<PlacementReply>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    get<PlacementReply>(`jobs/${id}/placement`, {}, stop.signal)
      .then(setReply)
      .catch((error) => stop.signal.aborted || setProblem(error.message));
    return () => stop.abort();
  }, [id, epoch, generation]);
  const placement = reply?.placement;
  return (
    <Section title="Communication of a step" note="by the present measurements of the links">
      {problem && <p class="problem">{problem}</p>}
      {placement && !placement.predicted && <Empty>The links of this run are not measured.</Empty>}
      {placement?.predicted && (
        <>
          <Orders placement={placement} />
          <table>
            <thead>
              <tr>
                <th>Axis</th>
                <th>Pattern</th>
                <th class="num">Bytes</th>
                <th class="num">Time</th>
                <th class="num">Hidden</th>
                <th>Slowest</th>
              </tr>
            </thead>
            <tbody>
              {(placement.phases ?? []).map((phase, i) => {
                const cost = placement.placed?.phases?.[i];
                return (
                  <tr key={phase.axis}>
                    <td>{phase.axis}</td>
                    <td class="faint">{phase.pattern?.replaceAll("_", " ")}</td>
                    <td class="num">{bytes(int(phase.bytes))}</td>
                    <td class="num">{orNone(cost?.seconds, seconds)}</td>
                    <td class="num">{orNone(phase.hiddenSeconds, seconds)}</td>
                    <td class="faint">{cost?.slowest || "latency"}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </>
      )}
    </Section>
  );
}

/** What the planner says of the attempt's plan, once: it takes seconds. */
function Detail({ id, epoch }: { id: string; epoch: string }) {
  const [reply, setReply] = useState<PlanDetailReply>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    get<PlanDetailReply>(`jobs/${id}/plan`, { attempt: epoch }, stop.signal)
      .then((answer) => (setReply(answer), setProblem("")))
      .catch((error) => stop.signal.aborted || setProblem(error.message));
    return () => stop.abort();
  }, [id, epoch]);
  if (!reply)
    return (
      <Section title="A step over time" id="step">
        {problem ? <p class="problem">{problem}</p> : <Empty>The planner runs the step…</Empty>}
      </Section>
    );
  return (
    <>
      {reply.step && <StepOfPlan step={reply.step} predicted={reply.predicted} />}
      {reply.ranking && <Meshes ranking={reply.ranking} />}
    </>
  );
}

function Placement({ attempt, nodes }: { attempt: Attempt; nodes: Node[] }) {
  const hosts = new Map<string, number[]>();
  (attempt.placement ?? []).forEach((place, rank) => {
    const id = place.nodeId ?? "";
    hosts.set(id, [...(hosts.get(id) ?? []), rank]);
  });
  const name = (id: string) => nodes.find((node) => node.id === id)?.inventory?.hostname ?? id;
  const at = (rank: number) => {
    const place = attempt.placement?.[rank]?.coordinates ?? {};
    return `data ${place.data ?? 0}, ring ${place.ring ?? 0}, ulysses ${place.ulysses ?? 0}, tensor ${place.tensor ?? 0}`;
  };
  return (
    <Section
      title="Placement"
      note={`${counted(attempt.placement?.length ?? 0, "rank")} on ${counted(hosts.size, "node")}`}
    >
      <ul class="placement">
        {[...hosts].map(([id, ranks]) => (
          <li key={id}>
            <span class="name">{name(id)}</span>
            {ranks.map((rank) => (
              <span key={rank} class="rank" title={at(rank)}>
                {rank}
              </span>
            ))}
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function PlanPage({ id }: { id: string }) {
  const { jobs, nodes, generation, connection } = useCluster();
  const job = jobs.find((one) => one.id === id);
  const attempt = job && of.newestAttempt(job);
  useEffect(() => {
    readJob(id).catch(() => undefined);
  }, [id, attempt?.epoch, generation]);
  if (!job)
    return (
      <main>
        <Empty>{connection === "connecting" ? "Reading the plan…" : `There is no run ${id}.`}</Empty>
      </main>
    );
  return (
    <main>
      <div class="bar top">
        <h1>
          Plan of <a href={`/runs/${id}`}>{job.spec?.name || id}</a> <span class="id">{id}</span>
        </h1>
        <State of={job.state} />
      </div>
      {!attempt && <Empty>The run has no plan yet. {(job.blockingReasons ?? []).join(" ")}</Empty>}
      {attempt && (
        <>
          <dl class="stats">
            <Stat words name="Mesh" value={meshText(attempt.mesh)} note={`ZeRO ${attempt.zero ?? 0}`} />
            <Stat name="Network" value={attempt.network || "–"} note={counted(of.devicesOf(job), "device")} />
            {rowsOf(job).map((row) => (
              <Stat
                key={row.name}
                name={row.name}
                value={orNone(row.plan, row.text)}
                note={`real ${orNone(row.real, row.text)}`}
              />
            ))}
            <Stat name="So far" value={orNone(of.wallSeconds(job), span)} note={of.costText(job)} />
          </dl>
          <div class="columns">
            <Memory job={job} attempt={attempt} nodes={nodes} />
            <Communication id={id} epoch={attempt.epoch} generation={generation} />
          </div>
          <Detail id={id} epoch={attempt.epoch} />
          <Placement attempt={attempt} nodes={nodes} />
        </>
      )}
      {job.spec?.yaml && (
        <Section title="Job file">
          <pre class="log">{job.spec.yaml}</pre>
        </Section>
      )}
    </main>
  );
}
