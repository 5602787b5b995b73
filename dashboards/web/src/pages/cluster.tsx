import { useEffect, useState } from "preact/hooks";
import { get, getPages, int } from "../api/client";
import { useCluster } from "../api/live";
import type { Job, LinksReply, Node, NodeLink, SurveyedNode } from "../api/types";
import { Empty, Section, State } from "../components/parts";
import { age, bytes, clock, counted } from "../format";
import { isLive, newestAttempt } from "../job";
import { go } from "../router";
import { nodeHops } from "../rings";
import { Links } from "./cluster_links";

const kRefresh = 20_000; // milliseconds

export interface Survey {
  nodes: SurveyedNode[];
  links: Map<string, NodeLink>; // by "from to"
  state: LinksReply["survey"];
  cables: NonNullable<LinksReply["cables"]>;
}

async function readLinks(signal: AbortSignal): Promise<Survey> {
  const survey: Survey = { nodes: [], links: new Map(), state: undefined, cables: [] };
  const take = (reply: LinksReply) => {
    survey.nodes.push(...(reply.nodes ?? []));
    survey.cables.push(...(reply.cables ?? []));
    survey.state ??= reply.survey;
    for (const link of reply.links ?? []) survey.links.set(`${link.from} ${link.to}`, link);
  };
  await getPages<LinksReply>("links", {}, take, signal);
  return survey;
}

function useLinks(generation: number) {
  const [survey, setSurvey] = useState<Survey>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    const read = () =>
      readLinks(stop.signal)
        .then((fresh) => (setSurvey(fresh), setProblem("")))
        .catch((error) => stop.signal.aborted || setProblem(error.message));
    void read();
    const timer = setInterval(() => document.visibilityState === "visible" && void read(), kRefresh);
    return () => (stop.abort(), clearInterval(timer));
  }, [generation]);
  return { survey, problem };
}

/** A square for each device: busy, free, or unfit. */
function Devices({ node, holders }: { node: Node; holders: Map<string, Job> }) {
  const busy = new Set(node.busyDevices ?? []);
  return (
    <span class="devices">
      {(node.inventory?.devices ?? []).map((device) => {
        const index = device.index ?? 0;
        const job = holders.get(`${node.id} ${index}`);
        const kind = device.lost || device.unfit ? "bad" : busy.has(index) ? "busy" : "free";
        const text = `${device.kind} ${index}: ${device.unfit || (device.lost ? "lost" : kind)}${job ? `, ${job.spec?.name} ${job.id}` : ""}`;
        return job ? (
          <a key={index} class={kind} href={`/runs/${job.id}`} title={text} aria-label={text} />
        ) : (
          <i key={index} class={kind} title={text} role="img" aria-label={text} />
        );
      })}
    </span>
  );
}

function holdersOf(jobs: Job[]): Map<string, Job> {
  const holders = new Map<string, Job>();
  for (const job of jobs.filter(isLive)) {
    for (const place of newestAttempt(job)?.placement ?? []) holders.set(`${place.nodeId} ${place.device ?? 0}`, job);
  }
  return holders;
}

function Nodes({ nodes, jobs }: { nodes: Node[]; jobs: Job[] }) {
  const holders = holdersOf(jobs);
  const all = nodes.flatMap((node) => node.inventory?.devices ?? []).length;
  const busy = nodes.reduce((sum, node) => sum + (node.busyDevices?.length ?? 0), 0);
  return (
    <Section title="Nodes" note={`${counted(nodes.length, "node")}, ${busy} of ${counted(all, "device")} busy`}>
      <div class="scroll" tabIndex={0}>
        <table class="cards nodes">
          <thead>
            <tr>
              <th>Node</th>
              <th>State</th>
              <th>Devices</th>
              <th>Kind</th>
              <th class="num">Device memory</th>
              <th class="num">Host memory</th>
              <th>Processor</th>
              <th>Seen</th>
            </tr>
          </thead>
          <tbody>
            {nodes.map((node) => {
              const device = node.inventory?.devices?.[0];
              return (
                <tr key={node.id}>
                  <td data-name="Node" class="name" title={node.id}>
                    {node.inventory?.hostname ?? node.id}
                  </td>
                  <td data-name="State">
                    <State of={node.state} />
                    {node.drained && <span class="faint"> drained: {node.drained}</span>}
                  </td>
                  <td data-name="Devices">
                    <Devices node={node} holders={holders} />
                  </td>
                  <td data-name="Kind">{device?.kind ?? "–"}</td>
                  <td data-name="Device memory" class="num">
                    {device ? bytes(int(device.memoryBytes)) : "–"}
                  </td>
                  <td data-name="Host memory" class="num">
                    {bytes(int(node.inventory?.memoryBytes))}
                  </td>
                  <td data-name="Processor" class="faint">
                    {node.inventory?.cpuModel} × {node.inventory?.cores}
                  </td>
                  <td data-name="Seen" class="faint" title={clock(node.lastSeen)}>
                    {node.sessionUp ? "now" : `${age(node.lastSeen)} ago`}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

/** Reads the placement of the chosen run, which lists and events leave out. */
function useChosen(jobs: Job[], id: string): Job | undefined {
  const known =
    jobs.find((job) => job.id === id) ??
    jobs.find((job) => isLive(job) && newestAttempt(job)) ??
    jobs.find(newestAttempt);
  const [whole, setWhole] = useState<Job>();
  const epoch = known && newestAttempt(known)?.epoch;
  useEffect(() => {
    if (!known) return;
    const stop = new AbortController();
    get<Job>(`jobs/${known.id}`, {}, stop.signal)
      .then(setWhole)
      .catch(() => undefined);
    return () => stop.abort();
  }, [known?.id, epoch]);
  return whole?.id === known?.id ? whole : known;
}

export function ClusterPage({ run }: { run: string }) {
  const { jobs, nodes, generation, connection } = useCluster();
  const { survey, problem } = useLinks(generation);
  const chosen = useChosen(jobs, run);
  const placed = jobs.filter(newestAttempt).slice(0, 50);
  return (
    <main>
      <div class="bar top">
        <h1>Cluster</h1>
        {placed.length > 0 && (
          <label>
            rings of{" "}
            <select
              value={chosen?.id ?? ""}
              onChange={(event) => go(`/cluster?run=${event.currentTarget.value}`, "replace")}
            >
              {placed.map((job) => (
                <option key={job.id} value={job.id}>
                  {job.spec?.name} {job.id}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {nodes.length === 0 ? (
        <Empty>{connection === "connecting" ? "Reading the nodes…" : "No worker has joined yet."}</Empty>
      ) : (
        <Nodes nodes={nodes} jobs={jobs} />
      )}
      {problem && <p class="problem">{problem}</p>}
      {survey && <Links survey={survey} hops={nodeHops(chosen && newestAttempt(chosen))} job={chosen} />}
    </main>
  );
}
