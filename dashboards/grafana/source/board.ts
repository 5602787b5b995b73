// A dashboard with the conventions that all six share.
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import { DATASOURCE, type Panel } from './panels.js';

export const TAG = 'ringmaster';

export interface Section {
  title: string;
  panels: Panel[];
}

export interface Board {
  uid: string;
  title: string;
  description: string;
  variables: dashboard.QueryVariableBuilder[];
  annotations: dashboard.AnnotationQueryBuilder[];
  sections: Section[];
}

function datasource(): dashboard.DatasourceVariableBuilder {
  return new dashboard.DatasourceVariableBuilder('datasource').label('Data source').type('prometheus');
}

function page(): dashboard.TextBoxVariableBuilder {
  return new dashboard.TextBoxVariableBuilder('page')
    .label("Ringmaster's page")
    .description("Address of the controller's built-in page, for links from a run to it.")
    .defaultValue('http://127.0.0.1:7071');
}

function variable(name: string, label: string, query: string): dashboard.QueryVariableBuilder {
  return new dashboard.QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query({ query, refId: name })
    .definition(query)
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .sort(dashboard.VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ text: 'All', value: '$__all' });
}

export const RUN = variable('run', 'Run', 'label_values(ringmaster_run_info, run)');
// Shows names, holds ids.
export const NODE = variable('node', 'Node', 'query_result(ringmaster_node_up)').regex(
  '/hostname="(?<text>[^"]+)".*node="(?<value>[^"]+)"/',
);
export const GPU_OF_RANK = variable('gpu', 'GPU', 'label_values(ringmaster_rank_step_seconds{run=~"$run", node=~"$node"}, gpu)');
export const GPU = variable('gpu', 'GPU', 'label_values(ringmaster_gpu_unfit{node=~"$node"}, gpu)');

function annotation(name: string, color: string, expr: string, text: string): dashboard.AnnotationQueryBuilder {
  return new dashboard.AnnotationQueryBuilder()
    .name(name)
    .datasource(DATASOURCE)
    .enable(true)
    .iconColor(color)
    .expr(expr)
    .titleFormat(name)
    .textFormat(text)
    .step('30s')
    .target(new prometheus.DataqueryBuilder().refId('Anno').expr(expr).datasource(DATASOURCE));
}

export const RESTARTS_OF_RUNS = annotation(
  'Restart',
  'orange',
  'sum by (run) (increase(ringmaster_train_badput_seconds_total{run=~"$run", cause="restore"}[$__rate_interval])) > 0',
  'run {{run}} restores a checkpoint',
);
// The series of a transition begins with the first one, which `increase` would miss.
const AGAIN = 'sum(ringmaster_job_transitions_total{from=~"running|stopping", to="pending"}';
export const RESTARTS = annotation('Job starts again', 'orange', `${AGAIN}) > (${AGAIN} offset 30s) or vector(0))`, 'An attempt has ended; its job waits for devices again.');
export const ALERTS_OF_RUNS = annotation(
  'Alert',
  'red',
  'ALERTS{alertname=~"Ringmaster.+", alertstate="firing", severity!="info", run=~"$run"}',
  '{{alertname}} {{run}}',
);
export const ALERTS_OF_NODES = annotation(
  'Alert',
  'red',
  'ALERTS{alertname=~"Ringmaster.+", alertstate="firing", severity!="info", node=~"$node"}',
  '{{alertname}} GPU {{gpu}}',
);
export const ALERTS = annotation(
  'Alert',
  'red',
  'ALERTS{alertname=~"Ringmaster.+", alertstate="firing", severity!="info"}',
  '{{alertname}} {{run}} {{hostname}}',
);

function links(): dashboard.DashboardLinkBuilder[] {
  const others = new dashboard.DashboardLinkBuilder('Ringmaster')
    .type(dashboard.DashboardLinkType.Dashboards)
    .tags([TAG])
    .asDropdown(true)
    .includeVars(true)
    .keepTime(true);
  const own = new dashboard.DashboardLinkBuilder('Jobs and logs')
    .type(dashboard.DashboardLinkType.Link)
    .icon('external link')
    .tooltip("The controller's own page")
    .url('${page}')
    .targetBlank(true);
  return [others, own];
}

export function build(board: Board): dashboard.Dashboard {
  const builder = new dashboard.DashboardBuilder(`Ringmaster / ${board.title}`)
    .uid(board.uid)
    .description(board.description)
    .tags([TAG])
    .readonly()
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .time({ from: 'now-1h', to: 'now' })
    .refresh('30s')
    .timezone('browser')
    .variables([datasource(), ...board.variables, page()])
    .annotations(board.annotations)
    .links(links());
  for (const section of board.sections) {
    builder.withRow(new dashboard.RowBuilder(section.title));
    section.panels.forEach((panel) => builder.withPanel(panel));
  }
  return builder.build();
}
