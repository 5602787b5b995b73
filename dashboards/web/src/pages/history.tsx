import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Job, JobsReply } from "../api/types";
import { Empty, State } from "../components/parts";
import { clock, count, fixed, meshText, orNone, percent, span, tokens, words } from "../format";
import { contextOf, costText, devicesOf, lossOf, modelOf, newestAttempt, tokensPerSecond, wallSeconds } from "../job";
import { go } from "../router";

interface Search {
  name: string;
  user: string;
  model: string;
  state: string;
}
const kStates = ["", "succeeded", "failed", "cancelled", "running", "pending"];
const kFields = [
  ["name", "Name"],
  ["user", "Owner"],
  ["model", "Model"],
] as const;

interface Field {
  name: string;
  number?: boolean;
  text: (job: Job) => string;
  csv?: (job: Job) => string | number | undefined; // in base units
}

const kTable: Field[] = [
  { name: "run", text: (job) => job.id },
  { name: "name", text: (job) => job.spec?.name ?? "" },
  { name: "state", text: (job) => words(job.state) },
  { name: "model", text: modelOf },
  { name: "context", number: true, text: (job) => tokens(contextOf(job)), csv: contextOf },
  { name: "mesh", text: (job) => meshText(newestAttempt(job)?.mesh) },
  { name: "devices", number: true, text: (job) => String(devicesOf(job)) },
  { name: "steps", number: true, text: (job) => job.lastStep?.step ?? "0" },
  { name: "loss", number: true, text: (job) => orNone(lossOf(job), fixed(4)), csv: (job) => lossOf(job) ?? "" },
  {
    name: "mfu",
    number: true,
    text: (job) => orNone(job.lastStep?.causalMfu || undefined, percent),
    csv: (job) => job.lastStep?.causalMfu,
  },
  { name: "tokens/s", number: true, text: (job) => orNone(tokensPerSecond(job), count), csv: tokensPerSecond },
  { name: "time", number: true, text: (job) => orNone(wallSeconds(job), span), csv: wallSeconds },
  { name: "cost", number: true, text: costText, csv: (job) => job.cost?.money },
  { name: "attempts", number: true, text: (job) => String(job.attempts?.length ?? 0) },
  { name: "owner", text: (job) => job.owner ?? "" },
  { name: "submitted", text: (job) => clock(job.submitted), csv: (job) => job.submitted },
  { name: "cause", text: (job) => job.failure || newestAttempt(job)?.cause || "" },
];

/** A cell of RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe. */
function csvCell(value: string | number | undefined): string {
  if (typeof value === "number") return String(value);
  const text = (value ?? "").replace(/^[=+\-@\t\r]/, "'$&");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function saveCsv(jobs: Job[]) {
  const rows = jobs.map((job) => kTable.map((field) => csvCell(field.csv ? field.csv(job) : field.text(job))));
  const text = [kTable.map((field) => field.name), ...rows].map((row) => row.join(",")).join("\r\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text + "\r\n"], { type: "text/csv" }));
  link.download = "ringmaster-history.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function useHistory(search: Search) {
  const [jobs, setJobs] = useState<Job[]>();
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const read = async (pageToken: string, signal?: AbortSignal) => {
    try {
      const reply = await get<JobsReply>("history", { ...search, page_token: pageToken }, signal);
      setJobs((old) => (pageToken ? [...(old ?? []), ...(reply.jobs ?? [])] : (reply.jobs ?? [])));
      setToken(reply.nextPageToken ?? "");
      setProblem("");
    } catch (error) {
      if (!signal?.aborted) setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => void read("", stop.signal), 150);
    return () => (stop.abort(), clearTimeout(timer));
  }, [search.name, search.user, search.model, search.state]);
  return { jobs, problem, more: token ? () => void read(token) : undefined };
}

export function History({ query }: { query: URLSearchParams }) {
  const of = (name: keyof Search) => query.get(name) ?? "";
  const search: Search = { name: of("name"), user: of("user"), model: of("model"), state: of("state") };
  const { jobs, problem, more } = useHistory(search);
  const change = (part: Partial<Search>) => {
    const given = Object.entries({ ...search, ...part }).filter(([, value]) => value);
    go(`/history?${new URLSearchParams(given)}`, "replace");
  };
  return (
    <main>
      <div class="bar top">
        <h1>History</h1>
        {kFields.map(([field, name]) => (
          <input
            key={field}
            type="search"
            placeholder={name}
            aria-label={name}
            value={search[field]}
            onInput={(event) => change({ [field]: event.currentTarget.value })}
          />
        ))}
        <select
          aria-label="State"
          value={search.state}
          onChange={(event) => change({ state: event.currentTarget.value })}
        >
          {kStates.map((state) => (
            <option key={state} value={state}>
              {state || "any state"}
            </option>
          ))}
        </select>
        <button disabled={!jobs?.length} onClick={() => saveCsv(jobs ?? [])}>
          CSV
        </button>
      </div>
      {problem && <p class="problem">{problem}</p>}
      {jobs?.length === 0 && <Empty>No run is like this. Names, owners and models are compared whole.</Empty>}
      {jobs && jobs.length > 0 && (
        <div class="panel flush">
          <table class="cards history">
            <thead>
              <tr>
                {kTable.map((field) => (
                  <th key={field.name} class={field.number ? "num" : ""}>
                    {field.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {jobs.map((job) => (
                <tr key={job.id}>
                  {kTable.map((field) => (
                    <td key={field.name} data-name={field.name} class={field.number ? "num" : `cell-${field.name}`}>
                      {field.name === "run" ? (
                        <a href={`/runs/${job.id}`}>{job.id}</a>
                      ) : field.name === "state" ? (
                        <State of={job.state} />
                      ) : (
                        field.text(job)
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {more && <button onClick={more}>More</button>}
    </main>
  );
}
