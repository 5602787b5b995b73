import { useEffect, useState } from "preact/hooks";
import { getQuantities, getSteps, type Series } from "../api/client";
import { readJob, useCluster } from "../api/live";
import { Chart, type Line } from "../components/chart";
import { AlongChoice, Empty, State } from "../components/parts";
import { align, type Along } from "../curves";
import { count, fixed, meshText, percent, seconds, span, tokens } from "../format";
import { contextOf, lossOf, modelOf, newestAttempt, wallSeconds } from "../job";
import { colorAt } from "../theme";

const kCharts: readonly (readonly [string, string, (value: number) => string])[] = [
  ["loss", "Loss", fixed(3)],
  ["causal_mfu", "MFU, causal", percent],
  ["tokens_per_second", "Tokens per second", count],
  ["seconds", "Step time", seconds],
];
const kRefresh = 5000; // milliseconds

function useRuns(ids: string[], generation: number) {
  const [runs, setRuns] = useState<Record<string, Series[]>>({});
  const [problem, setProblem] = useState("");
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const read = async (id: string) => {
      const known = await getQuantities(id, stop.signal);
      const quantities = kCharts.map(([quantity]) => quantity).filter((quantity) => known.includes(quantity));
      return quantities.length > 0 ? getSteps(id, { quantities }, stop.signal) : [];
    };
    for (const id of ids) {
      read(id)
        .then((series) => setRuns((old) => ({ ...old, [id]: series })))
        .catch((error) => stop.signal.aborted || setProblem(`${id}: ${error.message}`));
    }
    const timer = setTimeout(() => document.visibilityState === "visible" && setTick(tick + 1), kRefresh);
    return () => (stop.abort(), clearTimeout(timer));
  }, [ids.join(","), generation, tick]);
  return { runs, problem };
}

/** Time begins with each run's first step, so that runs of different days lie upon each other. */
function sinceStart(series: Series | undefined): Series | undefined {
  const begin = series?.times[0] ?? 0;
  return series && { ...series, times: series.times.map((time) => time - begin) };
}

export function Compare({ ids }: { ids: string[] }) {
  const { jobs, generation } = useCluster();
  const { runs, problem } = useRuns(ids, generation);
  const [along, setAlong] = useState<Along>("step");
  const chosen = ids.map((id) => jobs.find((job) => job.id === id));
  useEffect(() => {
    for (const id of ids.filter((_, i) => generation > 0 && !chosen[i])) readJob(id).catch(() => undefined);
  }, [ids.join(","), generation]);
  const nameOf = (i: number) => `${chosen[i]?.spec?.name ?? ""} ${ids[i]}`.trim();
  if (ids.length === 0) {
    return (
      <main>
        <Empty>
          Choose two runs or more on the page of <a href="/runs">runs</a>.
        </Empty>
      </main>
    );
  }
  return (
    <main>
      <div class="bar top">
        <h1>Compare</h1>
        <AlongChoice value={along} onChange={setAlong} />
      </div>
      {problem && <p class="problem">{problem}</p>}
      <div class="panel flush">
        <table class="cards">
          <thead>
            <tr>
              {["Run", "State", "Model", "Ctx", "Mesh", "Loss", "MFU", "Time"].map((name) => (
                <th key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {chosen.map((job, i) => (
              <tr key={ids[i]}>
                <td data-name="Run">
                  <i class="swatch" style={{ background: colorAt(i) }} /> <a href={`/runs/${ids[i]}`}>{nameOf(i)}</a>
                </td>
                <td data-name="State">{job ? <State of={job.state} /> : "–"}</td>
                <td data-name="Model">{job ? modelOf(job) : "–"}</td>
                <td data-name="Ctx">{job ? tokens(contextOf(job)) : "–"}</td>
                <td data-name="Mesh">{meshText(job && newestAttempt(job)?.mesh)}</td>
                <td data-name="Loss">{job && lossOf(job) ? lossOf(job)!.toFixed(4) : "–"}</td>
                <td data-name="MFU">{job?.lastStep?.causalMfu ? percent(job.lastStep.causalMfu) : "–"}</td>
                <td data-name="Time">{job ? span(wallSeconds(job) ?? NaN) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="charts few">
        {kCharts.map(([quantity, title, text]) => {
          const series = ids.map((id) => sinceStart(runs[id]?.find((one) => one.quantity === quantity)));
          const { x, values } = align(series, along);
          const lines = ids.map((_, i): Line => ({ label: nameOf(i), color: colorAt(i), values: values[i]! }));
          const xText = along === "time" ? span : undefined;
          return (
            <Chart
              key={quantity + along}
              title={title}
              x={x}
              lines={lines}
              text={text}
              {...(xText ? { xText } : {})}
              sync="compare"
            />
          );
        })}
      </div>
    </main>
  );
}
