// Every name on a panel is a series that exists, and every series is on a panel.
import { type Series, family, isForeign } from './catalogue.js';
import type { Use } from './model.js';
import { metricNames } from './promql.js';

export function unknownNames(uses: Use[], known: Map<string, Series>): string[] {
  return uses.flatMap((use) =>
    metricNames(use.expr)
      .filter((name) => !isForeign(name) && !family(name, known))
      .map((name) => `${use.where}: docs/metrics.md has no series ${name}`),
  );
}

export function missingPanels(uses: Use[], known: Map<string, Series>, hidden: Map<string, string>): string[] {
  const shown = new Set(uses.flatMap((use) => metricNames(use.expr)).map((name) => family(name, known)?.name));
  const missing = [...known.keys()].filter((name) => !shown.has(name) && !hidden.has(name));
  const listed = [...hidden.keys()].filter((name) => shown.has(name) || !known.has(name));
  return [
    ...missing.map((name) => `${name} is on no panel; add one, or a line with the reason to tests/dashboards/not_shown.txt`),
    ...listed.map((name) => `tests/dashboards/not_shown.txt: ${name} is shown, or does not exist`),
  ];
}

export function undocumented(exported: Set<string>, known: Map<string, Series>): string[] {
  return [...exported].filter((name) => !known.has(name)).map((name) => `${name} is exported; docs/metrics.md lacks it`);
}

export function notExported(exported: Set<string>, known: Map<string, Series>, awaited: Map<string, string>): string[] {
  const names = [...known.keys()].filter((name) => !exported.has(name) && !awaited.has(name));
  return names.map((name) => `docs/metrics.md has ${name}; no source exports it`);
}
