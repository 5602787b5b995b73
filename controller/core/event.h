#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/core/state.h"

// The audit trail. An event says what happened to one thing and carries the columns that changed
// with their new values, so folding the log from the start gives the tables. A few are notes.
namespace rm {

struct Field {
    std::string name;
    std::optional<std::string> value;  // nothing: the column is gone (a device that was taken out)
    bool operator==(const Field&) const = default;
};

struct AuditEvent {
    WallTime time;
    std::string kind;     // "job.submitted", "attempt.ended", ...
    std::string subject;  // "job/abc123", "attempt/7", "node/n1", "cluster"
    std::vector<Field> fields;
    bool operator==(const AuditEvent&) const = default;
};

void append_json_string(std::string& out, std::string_view text);  // quoted and escaped
std::string to_json(const std::vector<Field>& fields);  // one object; every value a string or null

using FlatRow =
    std::map<std::string, std::string>;  // column -> text; children as "stages.0.context"

FlatRow flatten(const Job& job);
FlatRow flatten(const Attempt& attempt);
FlatRow flatten(const Node& node);
FlatRow flatten(const KeptProfile& profile);
FlatRow flatten_meta(const State& state);

// The fields that turn `before` into `after`.
std::vector<Field> difference(const FlatRow& before, const FlatRow& after);
// A note's fields are not columns: a note says what happened to a thing while its row stays the
// same.
bool is_note(std::string_view kind);

std::string subject_of(const Job& job);
std::string subject_of(const Attempt& attempt);
std::string subject_of(const Node& node);
std::string subject_of(const KeptProfile& profile);
constexpr const char* kMetaSubject = "cluster";

}  // namespace rm
