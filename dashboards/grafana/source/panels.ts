// Builders of panels: each takes everything that a reader needs to understand the panel.
import * as bargauge from '@grafana/grafana-foundation-sdk/bargauge';
import type * as cog from '@grafana/grafana-foundation-sdk/cog';
import * as common from '@grafana/grafana-foundation-sdk/common';
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as heatmap from '@grafana/grafana-foundation-sdk/heatmap';
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as statetimeline from '@grafana/grafana-foundation-sdk/statetimeline';
import * as table from '@grafana/grafana-foundation-sdk/table';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';

export type Panel = cog.Builder<dashboard.Panel>;

export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

export interface Query {
  expr: string;
  legend?: string;
}

// `at`: the color from this value on; without it, from the start.
export interface Level {
  color: string;
  at?: number;
}

export interface Link {
  title: string;
  url: string;
}

export interface Look {
  title: string;
  description: string;
  unit: string;
  queries: Query[];
  width?: number;
  height?: number;
  min?: number;
  max?: number;
  decimals?: number;
  levels?: Level[];
  links?: Link[];
}

// A line goes on over gaps up to this many milliseconds: steps with long contexts take minutes.
const LONGEST_GAP = 3_600_000;

export const GOOD_WHEN_ZERO: Level[] = [{ color: 'green' }, { color: 'red', at: 1 }];
export const NEUTRAL: Level[] = [{ color: 'blue' }];

interface Common {
  title(title: string): this;
  description(text: string): this;
  datasource(source: common.DataSourceRef): this;
  unit(unit: string): this;
  span(width: number): this;
  height(height: number): this;
  min(min: number): this;
  max(max: number): this;
  decimals(decimals: number): this;
  withTarget(target: cog.Builder<cog.Dataquery>): this;
  thresholds(thresholds: cog.Builder<dashboard.ThresholdsConfig>): this;
  dataLinks(links: cog.Builder<dashboard.DashboardLink>[]): this;
}

function refId(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}

function target(query: Query, index: number): prometheus.DataqueryBuilder {
  const built = new prometheus.DataqueryBuilder().refId(refId(index)).expr(query.expr).datasource(DATASOURCE);
  return query.legend === undefined ? built : built.legendFormat(query.legend);
}

function thresholds(levels: Level[]): dashboard.ThresholdsConfigBuilder {
  const steps = levels.map((level) => ({ color: level.color, value: level.at ?? null }));
  return new dashboard.ThresholdsConfigBuilder().mode(dashboard.ThresholdsMode.Absolute).steps(steps);
}

function dataLink(link: Link): dashboard.DashboardLinkBuilder {
  return new dashboard.DashboardLinkBuilder(link.title).url(link.url);
}

function dress<Builder extends Common>(builder: Builder, look: Look, width: number, height: number): Builder {
  builder.title(look.title).description(look.description).datasource(DATASOURCE).unit(look.unit);
  builder.span(look.width ?? width).height(look.height ?? height);
  if (look.min !== undefined) builder.min(look.min);
  if (look.max !== undefined) builder.max(look.max);
  if (look.decimals !== undefined) builder.decimals(look.decimals);
  if (look.levels) builder.thresholds(thresholds(look.levels));
  if (look.links) builder.dataLinks(look.links.map(dataLink));
  return builder;
}

function dressed<Builder extends Common>(builder: Builder, look: Look, width: number, height: number): Builder {
  dress(builder, look, width, height);
  look.queries.forEach((query, index) => builder.withTarget(target(query, index)));
  return builder;
}

function colorMode(mode: dashboard.FieldColorModeId): dashboard.FieldColorBuilder {
  return new dashboard.FieldColorBuilder().mode(mode);
}

function last(): common.ReduceDataOptionsBuilder {
  return new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).fields('').values(false);
}

function legend(): common.VizLegendOptionsBuilder {
  return new common.VizLegendOptionsBuilder()
    .displayMode(common.LegendDisplayMode.Table)
    .placement(common.LegendPlacement.Bottom)
    .showLegend(true)
    .calcs(['lastNotNull', 'max'])
    .sortBy('Last *')
    .sortDesc(true);
}

// One number, with its recent course behind it.
export function number(look: Look): Panel {
  return dressed(new stat.PanelBuilder(), { ...look, levels: look.levels ?? NEUTRAL }, 3, 4)
    .colorMode(common.BigValueColorMode.Value)
    .graphMode(common.BigValueGraphMode.Area)
    .colorScheme(colorMode(dashboard.FieldColorModeId.Thresholds))
    .reduceOptions(last());
}

export function graph(look: Look): timeseries.PanelBuilder {
  const builder = dressed(new timeseries.PanelBuilder(), look, 12, 8)
    .lineWidth(1)
    .fillOpacity(8)
    .showPoints(common.VisibilityMode.Never)
    .spanNulls(LONGEST_GAP)
    .legend(legend())
    .tooltip(new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending));
  if (look.levels) builder.thresholdsStyle(new common.GraphThresholdsStyleConfigBuilder().mode(common.GraphThresholdsStyleMode.Line));
  return builder;
}

export function stacked(look: Look): timeseries.PanelBuilder {
  return graph(look)
    .fillOpacity(60)
    .lineWidth(0)
    .stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal).group('A'));
}

// A histogram's buckets over time; the query sums them by `le`.
export function buckets(look: Look): Panel {
  const query = look.queries[0]!;
  return dress(new heatmap.PanelBuilder(), look, 12, 8)
    .withTarget(target({ ...query, legend: '{{le}}' }, 0).format(prometheus.PromQueryFormat.Heatmap))
    .calculate(false)
    .yAxis(new heatmap.YAxisConfigBuilder().unit(look.unit))
    .color(new heatmap.HeatmapColorOptionsBuilder().scheme('Oranges').steps(64))
    .cellGap(1)
    .showLegend();
}

export function bars(look: Look): Panel {
  return dressed(new bargauge.PanelBuilder(), look, 8, 8)
    .displayMode(common.BarGaugeDisplayMode.Gradient)
    .orientation(common.VizOrientation.Horizontal)
    .colorScheme(colorMode(dashboard.FieldColorModeId.Thresholds))
    .reduceOptions(last());
}

// A strip per series whose colors are the words' of its values.
export function timeline(look: Look, words: Record<string, { text: string; color: string }>): Panel {
  const mapping: dashboard.ValueMapping = { type: dashboard.MappingType.ValueToText, options: words };
  return dressed(new statetimeline.PanelBuilder(), look, 12, 8)
    .mappings([mapping])
    .showValue(common.VisibilityMode.Never)
    .mergeValues(true)
    .rowHeight(0.8);
}

export interface Column {
  title: string;
  expr: string;
  unit: string;
  decimals?: number;
  levels?: Level[];
  // Only its labels are of interest.
  hidden?: boolean;
}

export interface TableLook {
  title: string;
  description: string;
  width?: number;
  height?: number;
  // Labels that become columns, by their titles.
  labels: Record<string, string>;
  columns: Column[];
  links?: Record<string, Link>;
  sortBy?: string;
}

function columnProperties(column: Column): dashboard.DynamicConfigValue[] {
  const properties: dashboard.DynamicConfigValue[] = [{ id: 'unit', value: column.unit }];
  if (column.decimals !== undefined) properties.push({ id: 'decimals', value: column.decimals });
  if (!column.levels) return properties;
  properties.push({ id: 'thresholds', value: thresholds(column.levels).build() });
  properties.push({ id: 'custom.cellOptions', value: { type: 'color-background', mode: 'basic' } });
  return properties;
}

// Names of a merged frame's fields: the value's is that of the only query, or has its letter.
function valueField(look: TableLook, index: number): string {
  return look.columns.length === 1 ? 'Value' : `Value #${refId(index)}`;
}

function organize(look: TableLook): dashboard.DataTransformerConfig {
  const fields = [...Object.keys(look.labels), ...look.columns.map((_, index) => valueField(look, index))];
  const titles = [...Object.values(look.labels), ...look.columns.map((column) => column.title)];
  const hidden = look.columns.flatMap((column, index) => (column.hidden ? [valueField(look, index)] : []));
  return {
    id: 'organize',
    options: {
      indexByName: Object.fromEntries(fields.map((field, index) => [field, index])),
      renameByName: Object.fromEntries(fields.map((field, index) => [field, titles[index]!])),
      excludeByName: Object.fromEntries(['Time', ...hidden].map((field) => [field, true])),
    },
  };
}

function instant(query: Query, index: number): prometheus.DataqueryBuilder {
  return target(query, index).format(prometheus.PromQueryFormat.Table).instant();
}

// A row for each combination of labels, a column for each query.
export function rows(look: TableLook): Panel {
  const builder = new table.PanelBuilder().title(look.title).description(look.description).datasource(DATASOURCE);
  builder.span(look.width ?? 24).height(look.height ?? 8).filterable(true);
  look.columns.forEach((column, index) => builder.withTarget(instant({ expr: column.expr }, index)));
  if (look.columns.length > 1) builder.withTransformation({ id: 'merge', options: {} });
  builder.withTransformation(organize(look));
  look.columns.forEach((column) => builder.overrideByName(column.title, columnProperties(column)));
  for (const [title, link] of Object.entries(look.links ?? {})) {
    builder.overrideByName(title, [{ id: 'links', value: [link] }]);
  }
  if (look.sortBy) builder.sortBy([new common.TableSortByFieldStateBuilder().displayName(look.sortBy).desc(true)]);
  return builder;
}

export interface MatrixLook extends Look {
  row: string;
  column: string;
}

// A cell for each pair of values of two labels, darker with a larger value.
export function matrix(look: MatrixLook): Panel {
  const cells = { rowField: look.row, columnField: look.column, valueField: 'Value', emptyValue: 'null' };
  return dress(new table.PanelBuilder(), look, 12, 10)
    .withTarget(instant(look.queries[0]!, 0))
    .withTransformation({ id: 'groupingToMatrix', options: cells })
    .colorScheme(colorMode(dashboard.FieldColorModeId.ContinuousRdYlGr))
    .cellOptions({ type: common.TableCellDisplayMode.ColorBackground, mode: common.TableCellBackgroundDisplayMode.Basic })
    .align(common.FieldTextAlignment.Center);
}
