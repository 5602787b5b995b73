#include "cli/show/job_text.h"
#include "cli/show/text.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"
#include "ringmaster/v1/admin.grpc.pb.h"

namespace rm {
namespace {

struct AuditOptions : VerbOptions {
    bool refused = add("--refused", refused, "Only what was refused");
    std::string since =
        add("--since", since, "Only since: 30m, 2h, 3d, or a date (UTC)", {.type = "TIME"});
    OutputFormat output = add_output(output, "table|wide|json|yaml");
};

Table audit_table(const std::vector<pb::AuditRow>& rows, Detail detail) {
    TableOf table(rows, detail);
    table.left("LAST", [](auto& row) { return time_text(row.last()); });
    table.right("COUNT", [](auto& row) { return grouped(row.count()); });
    table.left("WHO", &pb::AuditRow::principal);
    table.left("METHOD",
               [](auto& row) { return row.method().substr(row.method().rfind('.') + 1); });
    table.left("SUBJECT", &pb::AuditRow::subject);
    table.left("CODE", [](auto& row) {
        return Cell(row.code(), row.code() == "ok" ? Color::none : Color::red);
    });
    table.left("REASON", &pb::AuditRow::reason);
    if (detail == Detail::wide) {
        table.left("FIRST", [](auto& row) { return time_text(row.first()); });
        table.left("CREDENTIAL", &pb::AuditRow::credential);
        table.left("PEER", &pb::AuditRow::peer);
        table.left("ARGUMENTS", &pb::AuditRow::arguments);
    }
    return table.done();
}

Result<pb::ListAuditRequest> request_of(const AuditOptions& options, WallTime now) {
    pb::ListAuditRequest request;
    request.set_only_refused(options.refused);
    if (!options.since.empty()) {
        RM_TRY(const WallTime since, parse_since(options.since, now));
        *request.mutable_since() = to_proto(since);
    }
    return request;
}

Result<ExitCode> run_audit(const AuditOptions& options, VerbContext& context) {
    const auto request = request_of(options, context.clock.wall());
    if (!request) return complain(context.console, request.error(), ExitCode::usage);
    RM_TRY(Client client, context.connect());
    std::vector<pb::AuditRow> rows;
    RM_RETURN_IF_ERROR(client.call_pages(
        &pb::AdminService::Stub::Audit, *request, [&rows](const pb::ListAuditReply& reply) {
            rows.insert(rows.end(), reply.rows().begin(), reply.rows().end());
        }));
    print_list(context.console.out, options.output, rows,
               [&](Detail detail) { return audit_table(rows, detail); });
    return ExitCode::ok;
}

}  // namespace

Verb audit_verb() {
    return verb_of("audit", "List who did what, and who was refused", run_audit,
                   {{"ringmaster audit --refused --since 2h", "who was refused, and why"}});
}

}  // namespace rm
