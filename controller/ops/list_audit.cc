#include "controller/ops/ops.h"
#include "controller/ops/views.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

pb::AuditRow to_message(const AuditRow& row) {
    pb::AuditRow message;
    message.set_id(row.id);
    *message.mutable_first() = to_proto(row.entry.time);
    *message.mutable_last() = to_proto(row.last);
    message.set_count(row.count);
    message.set_principal(row.entry.principal);
    message.set_credential(row.entry.credential);
    message.set_peer(row.entry.peer);
    message.set_method(row.entry.method);
    message.set_subject(row.entry.subject);
    message.set_code(row.entry.code);
    message.set_reason(row.entry.reason);
    message.set_arguments(row.entry.arguments);
    return message;
}

}  // namespace

Result<pb::ListAuditReply> list_audit(AuditReader& reader, const pb::ListAuditRequest& request) {
    AuditFilter filter{.only_refused = request.only_refused(),
                       .limit = page_size(request.page_size())};
    RM_TRY(filter.before_id, parse_page_token(request.page_token(), 0));
    if (request.has_since()) filter.since = from_proto(request.since());
    RM_TRY(const std::vector<AuditRow> rows, reader.list(filter));
    pb::ListAuditReply reply;
    for (const AuditRow& row : rows)
        *reply.add_rows() = to_message(row);
    const bool full = static_cast<int>(rows.size()) == filter.limit;
    if (full) reply.set_next_page_token(std::to_string(rows.back().id));
    return reply;
}

}  // namespace rm
