import { int } from "../api/client";
import type { Job, SuiteCell, SuiteReport } from "../api/types";
import { Section } from "../components/parts";
import { counted, grouped, seconds, tokens } from "../format";

// A number of 0 is not in the JSON.
const depthOf = (cell: SuiteCell) => cell.depth ?? 0;
const rowOf = (cell: SuiteCell) =>
  depthOf(cell) < 0 ? (cell.task ?? "") : `${Math.round(100 * depthOf(cell))} %`;
const scoreOf = (cell: SuiteCell) => cell.score ?? 0;
const lengthOf = (cell: SuiteCell) => int(cell.length);
const lengthText = (length: number) => (length % 1024 === 0 ? tokens(length) : grouped(length));
const unique = <T,>(values: T[]) => [...new Set(values)];
const answers = (cell: SuiteCell) =>
  `${rowOf(cell)}, ${grouped(lengthOf(cell))} tokens: ${counted(int(cell.samples), "text")}, ` +
  `${Number(cell.loss ?? 0).toFixed(3)} nats per token of an answer`;

/** From orange to green, which people with any colour vision tell apart. */
const shade = (score: number) => `color-mix(in oklab, #009e73 ${Math.round(100 * score)}%, #d55e00)`;

function factsOf(suite: SuiteReport, beyond: boolean): string {
  const facts = [
    `after step ${grouped(int(suite.step))}`,
    suite.suite === "ruler" ? "by task and tokens of the text" : "by the needle's depth and tokens of the text",
    `took ${seconds(suite.seconds ?? 0)}`,
  ];
  const effective = int(suite.effectiveLength);
  if (suite.suite === "ruler") facts.push(`effective length ${effective > 0 ? lengthText(effective) : "none of these"}`);
  if (beyond) facts.push(`* beyond the trained ${lengthText(int(suite.trainedContext))}`);
  return facts.join(" · ");
}

/** The share of right answers. */
function Grid({ suite }: { suite: SuiteReport }) {
  const cells = suite.cells ?? [];
  const rows = unique(cells.map(rowOf));
  const lengths = unique(cells.map(lengthOf)).sort((a, b) => a - b);
  const trained = int(suite.trainedContext);
  const isBeyond = (length: number) => trained > 0 && length > trained;
  const at = new Map(cells.map((cell) => [`${rowOf(cell)} ${lengthOf(cell)}`, cell]));
  return (
    <figure class="suite">
      <figcaption>
        <b>{suite.name}</b> <span class="note">{factsOf(suite, lengths.some(isBeyond))}</span>
      </figcaption>
      <table>
        <thead>
          <tr>
            <th scope="col">{suite.suite === "ruler" ? "task" : "depth"}</th>
            {lengths.map((length) => (
              <th key={length} scope="col">
                {lengthText(length)}
                {isBeyond(length) && "*"}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              <th scope="row">{row}</th>
              {lengths.map((length) => {
                const cell = at.get(`${row} ${length}`);
                if (!cell) return <td key={length}>–</td>;
                return (
                  <td key={length} title={answers(cell)} style={{ background: shade(scoreOf(cell)) }}>
                    {Math.round(100 * scoreOf(cell))} %
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

/** How the model did in the suites of its job, the newest of each. */
export function Suites({ job }: { job: Job }) {
  const suites = job.lastSuites ?? [];
  if (suites.length === 0) return null;
  return (
    <Section title="Right answers" note="of the texts that suites made">
      <div class="suites">
        {suites.map((suite) => (
          <Grid key={suite.name} suite={suite} />
        ))}
      </div>
    </Section>
  );
}
