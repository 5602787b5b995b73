import { useEffect, useState } from "preact/hooks";
import { get, int } from "../api/client";
import type { ExplainReply, Finding, Job } from "../api/types";
import { Empty, Section, State } from "../components/parts";
import { bytes, clock, counted, grouped, meshText, money, orNone, seconds, span, unix } from "../format";
import { newestAttempt } from "../job";

interface Row {
  name: string;
  plan: number | undefined;
  real: number | undefined;
  text: (value: number) => string;
}

function difference(row: Row): string {
  if (!row.plan || !row.real) return "–";
  const part = row.real / row.plan - 1;
  return `${part >= 0 ? "+" : "−"}${Math.abs(part * 100).toFixed(1)}%`;
}

function memorySums(job: Job): { device: number; host: number } {
  const sums = { device: 0, host: 0 };
  for (const [kind, size] of Object.entries(job.lastStep?.memoryBytes ?? {}))
    sums[kind.startsWith("host ") ? "host" : "device"] += int(size);
  return sums;
}

export function rowsOf(job: Job): Row[] {
  const attempt = newestAttempt(job);
  const plan = attempt?.predicted;
  const memory = memorySums(job);
  const measured = attempt?.measuredStepSeconds || job.lastStep?.seconds;
  return [
    { name: "Step", plan: plan?.stepSeconds, real: measured, text: seconds },
    {
      name: "Whole run",
      plan: plan?.allSeconds,
      real: measured ? measured * int(job.numSteps) : undefined,
      text: span,
    },
    { name: "Device memory", plan: int(plan?.deviceBytes) || undefined, real: memory.device || undefined, text: bytes },
    { name: "Host memory", plan: int(plan?.hostBytes) || undefined, real: memory.host || undefined, text: bytes },
  ];
}

export function PlanAgainstReal({ job, capacity, capacityText }: { job: Job; capacity: number; capacityText: string }) {
  const cost = newestAttempt(job)?.cost;
  return (
    <Section
      title="Plan and reality"
      note={newestAttempt(job)?.predicted ? undefined : "no dry run was made of this attempt"}
    >
      <table>
        <thead>
          <tr>
            <th />
            <th class="num">Plan</th>
            <th class="num">Real</th>
            <th class="num">Diff.</th>
          </tr>
        </thead>
        <tbody>
          {rowsOf(job).map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              <td class="num">{orNone(row.plan, row.text)}</td>
              <td class="num">{orNone(row.real, row.text)}</td>
              <td class="num">{difference(row)}</td>
            </tr>
          ))}
          <tr>
            <th scope="row">Cost</th>
            <td class="num">–</td>
            <td class="num">{cost?.money ? money(cost.money, cost.currency) : "–"}</td>
            <td class="num">
              {job.spec?.resources?.maxCostUsd ? `at most ${grouped(job.spec.resources.maxCostUsd)}` : "–"}
            </td>
          </tr>
        </tbody>
      </table>
      {capacity > 0 && <p class="note">The device of rank 0 has {capacityText}.</p>}
    </Section>
  );
}

const kKinds = { INFO: "", BLOCKING: "bad", PROBLEM: "bad" } as const;

export function Findings({ job, generation }: { job: Job; generation: number }) {
  const [findings, setFindings] = useState<Finding[]>();
  // An answer is kept for a while, here and in the controller: another state is another question.
  const seen = `${job.state} ${job.attempts?.length ?? 0}`;
  useEffect(() => {
    const stop = new AbortController();
    const read = () =>
      get<ExplainReply>(`jobs/${job.id}/explain`, { seen }, stop.signal)
        .then((reply) => setFindings(reply.findings ?? []))
        .catch(() => stop.signal.aborted || setFindings([]));
    void read();
    const timer = setInterval(() => document.visibilityState === "visible" && void read(), 15_000);
    return () => (stop.abort(), clearInterval(timer));
  }, [job.id, seen, generation]);
  return (
    <Section title="Explanation" note="as ringmaster explain gives it">
      {findings?.length === 0 && <Empty>Nothing to explain.</Empty>}
      <ul class="findings">
        {(findings ?? []).map((finding) => (
          <li key={`${finding.subject}${finding.text}`} class={kKinds[finding.kind ?? "INFO"]}>
            <b>{finding.subject}</b> {finding.text}
            {finding.remedy && <em>{finding.remedy}</em>}
          </li>
        ))}
      </ul>
    </Section>
  );
}

interface Happening {
  time: string | undefined;
  subject: string;
  what: preact.ComponentChildren;
}

function happenings(job: Job): Happening[] {
  const list: Happening[] = [{ time: job.submitted, subject: "job", what: `submitted by ${job.owner || "default"}` }];
  for (const attempt of job.attempts ?? []) {
    const subject = `attempt ${attempt.epoch}`;
    list.push({
      time: attempt.started,
      subject,
      what: `started: ${meshText(attempt.mesh)}, ZeRO ${attempt.zero ?? 0}`,
    });
    if (!attempt.ended) continue;
    const took = span(unix(attempt.ended) - unix(attempt.started));
    const kept = int(attempt.lastCheckpointStep) ? `; checkpoint of step ${attempt.lastCheckpointStep}` : "";
    const what = (
      <>
        <State of={attempt.state} /> after {took}: {attempt.cause}
        {attempt.failureClass ? ` (${attempt.failureClass})` : ""}
        {kept}
      </>
    );
    list.push({ time: attempt.ended, subject, what });
  }
  for (const alarm of job.alarms ?? [])
    list.push({ time: alarm.time, subject: `attempt ${alarm.epoch}`, what: <span class="bad">{alarm.text}</span> });
  if (job.ended) list.push({ time: job.ended, subject: "job", what: <State of={job.state} /> });
  return list.sort((a, b) => (b.time ?? "").localeCompare(a.time ?? ""));
}

export function Events({ job }: { job: Job }) {
  return (
    <Section title="Events" note={counted(job.attempts?.length ?? 0, "attempt")}>
      <table class="events">
        <tbody>
          {happenings(job).map((one, i) => (
            <tr key={i}>
              <td class="time">{clock(one.time)}</td>
              <td class="faint">{one.subject}</td>
              <td>{one.what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}
