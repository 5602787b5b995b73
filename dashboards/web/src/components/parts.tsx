import type { ComponentChildren } from "preact";
import type { Job } from "../api/types";
import { int } from "../api/client";
import type { Along } from "../curves";
import { words } from "../format";

const kTones: Record<string, string> = {
  running: "run",
  ready: "run",
  succeeded: "good",
  failed: "bad",
  lost: "bad",
  gone: "bad",
  unreachable: "bad",
  pending: "wait",
  starting: "wait",
  stopping: "wait",
};

/** A state, as its own word beside a mark: colour alone says nothing. */
export function State({ of }: { of: string }) {
  const word = words(of);
  return <span class={`state ${kTones[word] ?? "off"}`}>{word}</span>;
}

export function Progress({ job }: { job: Job }) {
  const [step, all] = [int(job.lastStep?.step), int(job.numSteps)];
  const part = all > 0 ? Math.min(step / all, 1) : 0;
  return (
    <span class="progress">
      <span
        class="bar"
        role="progressbar"
        aria-valuenow={step}
        aria-valuemin={0}
        aria-valuemax={all}
        aria-label="steps"
      >
        <i style={{ width: `${part * 100}%` }} />
      </span>
      <span class="num">
        {step.toLocaleString("en-US")}
        <span class="faint"> / {all.toLocaleString("en-US")}</span>
      </span>
    </span>
  );
}

export function Section(props: {
  title: string;
  note?: ComponentChildren;
  tools?: ComponentChildren;
  id?: string;
  children: ComponentChildren;
}) {
  return (
    <section class="panel" id={props.id}>
      <header>
        <h2>{props.title}</h2>
        {props.note && <span class="note">{props.note}</span>}
        {props.tools && <span class="tools">{props.tools}</span>}
      </header>
      {props.children}
    </section>
  );
}

export function Stat({
  name,
  value,
  note,
  words,
}: {
  name: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  words?: boolean;
}) {
  return (
    <div class="stat">
      <dt>{name}</dt>
      <dd class={words ? "words" : ""}>
        {value}
        {note && <small>{note}</small>}
      </dd>
    </div>
  );
}

export const Empty = ({ children }: { children: ComponentChildren }) => <p class="empty">{children}</p>;

/** One of a few, as buttons side by side. */
export function Choice<T extends string>(props: {
  label: string;
  options: readonly (readonly [T, string])[];
  value: T;
  onChange: (value: T) => void;
}) {
  return (
    <span class="choice" role="group" aria-label={props.label}>
      {props.options.map(([value, text]) => (
        <button key={value} aria-pressed={value === props.value} onClick={() => props.onChange(value)}>
          {text}
        </button>
      ))}
    </span>
  );
}

/** Curves by step or by time. */
export const AlongChoice = (props: { value: Along; onChange: (value: Along) => void }) => (
  <Choice
    label="Along"
    options={[
      ["step", "Steps"],
      ["time", "Time"],
    ]}
    value={props.value}
    onChange={props.onChange}
  />
);
