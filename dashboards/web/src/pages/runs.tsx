import { useMemo, useState } from "preact/hooks";
import { useCluster } from "../api/live";
import type { Job } from "../api/types";
import { Empty, Progress, State } from "../components/parts";
import { age, clock, count, fixed, orNone, percent, span, tokens, words } from "../format";
import { contextOf, costText, devicesOf, isLive, lossOf, modelOf, remaining, tokensPerSecond } from "../job";
import { go } from "../router";

type Filter = "all" | "live" | "succeeded" | "failed" | "cancelled";
const kFilters: readonly (readonly [Filter, string])[] = [
  ["all", "All"],
  ["live", "Live"],
  ["succeeded", "Succeeded"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
];
const kMostCompared = 8;
const kRows = 100; // until the reader asks for more

const passes = (job: Job, filter: Filter) =>
  filter === "all" || (filter === "live" ? isLive(job) : words(job.state) === filter);

function matches(job: Job, text: string): boolean {
  const place = [job.id, job.spec?.name, job.owner, modelOf(job), words(job.state)].join(" ").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => place.includes(word));
}

interface Column {
  name: string;
  number?: boolean;
  wide?: boolean; // left out where there is little room
  cell: (job: Job) => preact.ComponentChildren;
  sort?: (job: Job) => number | string;
}

const kColumns: Column[] = [
  {
    name: "Run",
    cell: (job) => (
      <a href={`/runs/${job.id}`} class="name">
        {job.spec?.name || job.id} <span class="id">{job.id}</span>
      </a>
    ),
    sort: (job) => job.spec?.name ?? job.id,
  },
  { name: "State", cell: (job) => <State of={job.state} />, sort: (job) => job.state },
  { name: "Step", cell: (job) => <Progress job={job} /> },
  { name: "Loss", number: true, cell: (job) => orNone(lossOf(job), fixed(4)), sort: (job) => lossOf(job) ?? Infinity },
  {
    name: "MFU",
    number: true,
    cell: (job) => orNone(job.lastStep?.causalMfu || undefined, percent),
    sort: (job) => -(job.lastStep?.causalMfu ?? 0),
  },
  {
    name: "Tok/s",
    number: true,
    cell: (job) => orNone(tokensPerSecond(job), count),
    sort: (job) => -(tokensPerSecond(job) ?? 0),
  },
  { name: "Model", cell: modelOf, sort: modelOf },
  { name: "Ctx", number: true, cell: (job) => tokens(contextOf(job)), sort: (job) => -contextOf(job) },
  { name: "Devices", number: true, cell: (job) => devicesOf(job) || "–", sort: (job) => -devicesOf(job) },
  { name: "ETA", number: true, cell: (job) => orNone(remaining(job), span), sort: (job) => remaining(job) ?? Infinity },
  { name: "Cost", number: true, wide: true, cell: costText, sort: (job) => -(job.cost?.money ?? 0) },
  { name: "Owner", wide: true, cell: (job) => job.owner ?? "–", sort: (job) => job.owner ?? "" },
  {
    name: "Age",
    number: true,
    cell: (job) => <time title={clock(job.submitted)}>{age(job.submitted)}</time>,
    sort: (job) => -Date.parse(job.submitted ?? ""),
  },
];

function sorted(jobs: Job[], column: string, down: boolean): Job[] {
  const by = kColumns.find((one) => one.name === column)?.sort;
  if (!by) return jobs;
  const order = (a: Job, b: Job) => {
    const [left, right] = [by(a), by(b)];
    return left < right ? -1 : left > right ? 1 : 0;
  };
  const rows = [...jobs].sort(order);
  return down ? rows.reverse() : rows;
}

export function Runs() {
  const { jobs, connection } = useCluster();
  const [filter, setFilter] = useState<Filter>("all");
  const [text, setText] = useState("");
  const [order, setOrder] = useState({ column: "", down: false });
  const [chosen, setChosen] = useState<string[]>([]);
  const [rows, setRows] = useState(kRows);
  const found = useMemo(() => jobs.filter((job) => matches(job, text)), [jobs, text]);
  const shown = sorted(
    found.filter((job) => passes(job, filter)),
    order.column,
    order.down,
  );
  const choose = (id: string) =>
    setChosen((old) => (old.includes(id) ? old.filter((one) => one !== id) : [...old, id].slice(-kMostCompared)));
  const sortBy = (column: string) => setOrder((old) => ({ column, down: old.column === column ? !old.down : false }));
  return (
    <main>
      <div class="bar top">
        <h1>Runs</h1>
        <span class="choice" role="group" aria-label="State">
          {kFilters.map(([value, name]) => (
            <button key={value} aria-pressed={value === filter} onClick={() => setFilter(value)}>
              {name} <span class="faint">{found.filter((job) => passes(job, value)).length}</span>
            </button>
          ))}
        </span>
        <input
          type="search"
          placeholder="Name, model, owner…"
          aria-label="Filter runs"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button
          class="primary"
          disabled={chosen.length < 2}
          title="Choose two runs or more"
          onClick={() => go(`/compare?ids=${chosen.join(",")}`)}
        >
          Compare{chosen.length > 0 ? ` ${chosen.length}` : ""}
        </button>
      </div>
      {shown.length === 0 ? (
        <Empty>
          {connection === "connecting"
            ? "Reading the runs…"
            : jobs.length > 0
              ? "No run passes these filters."
              : "There are no runs yet. `ringmaster submit job.yaml` starts one."}
        </Empty>
      ) : (
        <div class="panel flush">
          <table class="runs cards">
            <thead>
              <tr>
                <th class="pick">
                  <span class="hidden">Compare</span>
                </th>
                {kColumns.map((column) => (
                  <th
                    key={column.name}
                    class={`${column.number ? "num" : ""} ${column.wide ? "wide" : ""}`}
                    aria-sort={order.column === column.name ? (order.down ? "descending" : "ascending") : "none"}
                  >
                    {column.sort ? <button onClick={() => sortBy(column.name)}>{column.name}</button> : column.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, rows).map((job) => (
                <tr key={job.id}>
                  <td class="pick">
                    <input
                      type="checkbox"
                      aria-label={`Compare ${job.spec?.name ?? job.id}`}
                      checked={chosen.includes(job.id)}
                      onChange={() => choose(job.id)}
                    />
                  </td>
                  {kColumns.map((column) => (
                    <td
                      key={column.name}
                      data-name={column.name}
                      class={`${column.number ? "num" : ""} ${column.wide ? "wide" : ""}`}
                    >
                      {column.cell(job)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {shown.length > rows && <button onClick={() => setRows(rows + kRows)}>{shown.length - rows} more</button>}
    </main>
  );
}
