#include "cli/text.h"
#include "cli/verbs/print_list.h"
#include "cli/verbs/verbs.h"

namespace rm {
namespace {

Table audit_table(const std::vector<pb::AuditRow>& rows, Detail detail) {
    std::vector<Column> columns = {
        {"LAST"}, {"COUNT", Align::right}, {"WHO"}, {"METHOD"}, {"SUBJECT"}, {"CODE"}, {"REASON"}};
    if (detail == Detail::wide) {
        for (const char* name : {"FIRST", "CREDENTIAL", "PEER", "ARGUMENTS"})
            columns.push_back({name});
    }
    Table table(std::move(columns));
    for (const pb::AuditRow& row : rows) {
        const Color color = row.code() == "ok" ? Color::none : Color::red;
        std::vector<Cell> cells = {to_iso8601(from_proto(row.last())),
                                   grouped(row.count()),
                                   row.principal(),
                                   row.method().substr(row.method().rfind('.') + 1),
                                   row.subject(),
                                   {row.code(), color},
                                   row.reason()};
        if (detail == Detail::wide) {
            cells.insert(cells.end(), {to_iso8601(from_proto(row.first())), row.credential(),
                                       row.peer(), row.arguments()});
        }
        table.add(std::move(cells));
    }
    return table;
}

Result<AuditQuery> query_of(const AuditOptions& options, WallTime now) {
    AuditQuery query{.only_refused = options.refused, .since = std::nullopt};
    if (!options.since.empty()) {
        RM_TRY(query.since, parse_since(options.since, now));
    }
    return query;
}

}  // namespace

Result<ExitCode> run_verb(const AuditOptions& options, VerbContext& context) {
    const auto query = query_of(options, context.clock.wall());
    if (!query) return complain(context.console, query.error(), ExitCode::usage);
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::vector<pb::AuditRow> rows, client.audit(*query));
    print_list(context.console.out, options.output, rows,
               [&](Detail detail) { return audit_table(rows, detail); });
    return ExitCode::ok;
}

}  // namespace rm
