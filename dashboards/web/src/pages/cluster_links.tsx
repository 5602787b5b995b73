import { useCallback, useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Job, LinkHistoryReply, LinkSample, NodeLink } from "../api/types";
import { Chart } from "../components/chart";
import { HeatMap, HeatScale } from "../components/heatmap";
import { Choice, Empty, Section } from "../components/parts";
import { clock, gbit, seconds, unix } from "../format";
import type { NodeHop } from "../rings";
import { colorAt } from "../theme";
import type { Survey } from "./cluster";
import { RingDrawing } from "./ring_drawing";

type Shown = "rate" | "baseline" | "latency";
const kShown: readonly (readonly [Shown, string])[] = [
  ["rate", "Rate"],
  ["baseline", "Against baseline"],
  ["latency", "Latency"],
];
const kAlarm = "#d55e00";

function valueOf(link: NodeLink | undefined, shown: Shown): number | undefined {
  if (!link) return undefined;
  if (shown === "latency") return link.latency;
  if (shown === "rate") return link.bandwidth;
  return link.baseline && link.bandwidth ? link.bandwidth / link.baseline : undefined;
}

function textOf(value: number, shown: Shown): string {
  if (shown === "latency") return seconds(value);
  return shown === "rate" ? `${gbit(value)} Gbit/s` : `${(value * 100).toFixed(0)}%`;
}

function describe(survey: Survey, from: number, to: number): string {
  const [a, b] = [survey.nodes[from]!, survey.nodes[to]!];
  const names = `${a.hostname ?? a.id} → ${b.hostname ?? b.id}`;
  const link = survey.links.get(`${a.id} ${b.id}`);
  if (!link) return from === to ? `${a.hostname ?? a.id}` : `${names}: not known`;
  const parts = [`${gbit(link.bandwidth ?? 0)} Gbit/s`, seconds(link.latency ?? 0)];
  if (link.baseline) parts.push(`baseline ${gbit(link.baseline)} Gbit/s`);
  if (!link.measured) parts.push("not measured: what its ends can reach");
  if (link.degraded) parts.push(`degraded since ${clock(link.degraded)}`);
  return `${names}: ${parts.join(", ")}`;
}

function LinkHistory({ from, to, name }: { from: string; to: string; name: string }) {
  const [samples, setSamples] = useState<LinkSample[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    get<LinkHistoryReply>("link_history", { from, to, limit: 200 }, stop.signal)
      .then((reply) => setSamples((reply.samples ?? []).toReversed()))
      .catch(() => undefined);
    return () => stop.abort();
  }, [from, to]);
  if (samples.length === 0) return null;
  const line = {
    label: "Gbit/s",
    color: "#0072b2",
    values: samples.map((one) => one.bandwidth ?? 0),
    points: samples.length < 3,
  };
  return (
    <Chart
      title={name}
      note="every sample"
      x={samples.map((one) => unix(one.time))}
      lines={[line]}
      xTime
      text={gbit}
      height={150}
    />
  );
}

function Alarms({ survey }: { survey: Survey }) {
  const bad = [...survey.links.values()].filter((link) => link.degraded);
  const name = (id: string) => survey.nodes.find((node) => node.id === id)?.hostname ?? id;
  if (bad.length === 0) return null;
  return (
    <ul class="findings">
      {bad.map((link) => (
        <li class="bad" key={`${link.from} ${link.to}`}>
          <b>
            {name(link.from)} → {name(link.to)}
          </b>{" "}
          {gbit(link.bandwidth ?? 0)} of {gbit(link.baseline ?? 0)} Gbit/s since {clock(link.degraded)}
        </li>
      ))}
    </ul>
  );
}

export function Links({ survey, hops, job }: { survey: Survey; hops: NodeHop[]; job: Job | undefined }) {
  const [shown, setShown] = useState<Shown>("rate");
  const [picked, setPicked] = useState<[number, number]>();
  const { nodes, links, state } = survey;
  const place = new Map(nodes.map((node, i) => [node.id, i]));
  const at = (from: number, to: number) => links.get(`${nodes[from]!.id} ${nodes[to]!.id}`);
  const known = [...links.values()].map((link) => valueOf(link, shown)).filter((value) => value !== undefined);
  const [low, high] = shown === "baseline" ? [0.5, 1] : [Math.min(...known), Math.max(...known)];
  const shade = useCallback(
    (from: number, to: number) => {
      const value = from === to ? undefined : valueOf(at(from, to), shown);
      if (value === undefined) return null;
      const part = (value - low) / (high - low || 1);
      return shown === "latency" ? 1 - part : part; // bright is good
    },
    [survey, shown],
  );
  if (nodes.length < 2) return <Empty>Links are measured once two nodes are there.</Empty>;
  const frames = [
    ...hops.map((hop) => ({
      row: place.get(hop.from)!,
      column: place.get(hop.to)!,
      color: colorAt(hop.ring),
      round: true,
    })),
    ...[...links.values()]
      .filter((link) => link.degraded)
      .map((link) => ({ row: place.get(link.from)!, column: place.get(link.to)!, color: kAlarm })),
  ].filter((frame) => frame.row !== undefined && frame.column !== undefined);
  const worst = shown === "latency" ? high : low;
  const best = shown === "latency" ? low : high;
  const note = state?.running
    ? `survey ${state.running} is running`
    : state?.last
      ? `after survey ${state.last}`
      : "no survey has ended yet";
  return (
    <div class="columns links">
      <Section
        title="Links"
        note={`from row to column, ${note}`}
        tools={
          <>
            {known.length > 0 && <HeatScale low={textOf(worst, shown)} high={textOf(best, shown)} />}
            <Choice label="Shown" options={kShown} value={shown} onChange={setShown} />
          </>
        }
      >
        <Alarms survey={survey} />
        <HeatMap
          rows={nodes.length}
          columns={nodes.length}
          shade={shade}
          describe={(from, to) => describe(survey, from, to)}
          rowLabel={(row) => nodes[row]!.hostname ?? nodes[row]!.id}
          rowHeight={Math.max(7, Math.min(36, Math.round(440 / nodes.length)))}
          frames={frames}
          onPick={(from, to) => from !== to && setPicked([from, to])}
          label={`Links between ${nodes.length} nodes`}
        />
        <p class="note">
          A circle is a hop of the run's rings, an orange frame an alarm. Click a link for its history.
        </p>
        {picked && (
          <LinkHistory
            from={nodes[picked[0]]!.id}
            to={nodes[picked[1]]!.id}
            name={`${nodes[picked[0]]!.hostname} → ${nodes[picked[1]]!.hostname}`}
          />
        )}
      </Section>
      <Section title="Rings" note={job ? `of ${job.spec?.name} ${job.id}` : "no run has a placement"}>
        {hops.length > 0 ? (
          <RingDrawing survey={survey} hops={hops} />
        ) : (
          <Empty>{job ? "No ring of this run leaves its node." : "A run's rings are drawn here."}</Empty>
        )}
      </Section>
    </div>
  );
}
