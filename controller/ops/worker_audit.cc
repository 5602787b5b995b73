#include "controller/ops/worker_audit.h"

namespace rm {
namespace {

struct Audited {
    std::string_view kind;
    std::string_view method;
};
constexpr Audited kAudited[] = {{"node.joined", "session begins"},
                                {"node.session_up", "session begins"},
                                {"node.session_down", "session ends"},
                                {"job.recovered", "adoption"}};

std::string name_in(const std::string& subject) {
    return subject.substr(subject.find('/') + 1);
}

}  // namespace

std::vector<AuditEntry> worker_audit(const Outcome& outcome) {
    std::vector<AuditEntry> rows;
    std::string node;  // an adoption follows the hello that it is of
    for (const Event& event : outcome.events) {
        if (event.kind.starts_with("node.")) node = name_in(event.subject);
        for (const Audited& audited : kAudited) {
            if (event.kind != audited.kind) continue;
            rows.push_back({.time = event.time,
                            .principal = node,
                            .method = std::string(audited.method),
                            .subject = name_in(event.subject),
                            .code = std::string(AuditEntry::kOk)});
        }
    }
    return rows;
}

}  // namespace rm
