#include "controller/core/event.h"

#include <cstdio>

#include "controller/core/columns.h"
#include "controller/core/fields.h"

namespace rm {
namespace {

// A visitor of columns that writes them into a flat row under a prefix.
auto writer(FlatRow& row, std::string prefix = {}) {
    return [&row, prefix = std::move(prefix)](std::string_view name, const auto& value) {
        row[format("{}{}", prefix, name)] = to_text(encode(value));
    };
}

template <typename Child>
void flatten_list(FlatRow& row, std::string_view list, const std::vector<Child>& children) {
    for (std::size_t i = 0; i < children.size(); ++i)
        columns(children[i], writer(row, format("{}.{}.", list, i)));
}

template <typename Row, typename Child>
FlatRow flatten(const Row& row, std::string_view list, const std::vector<Child>& children) {
    FlatRow flat;
    columns(row, writer(flat));
    flatten_list(flat, list, children);
    return flat;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
            out += escaped;
        } else {
            out += c;
        }
    }
    out += '"';
}

std::string to_json(const std::vector<Field>& fields) {
    std::string out = "{";
    for (const Field& field : fields) {
        if (out.size() > 1) out += ',';
        append_json_string(out, field.name);
        out += ':';
        if (field.value) {
            append_json_string(out, *field.value);
        } else {
            out += "null";
        }
    }
    return out + "}";
}

FlatRow flatten(const Job& job) {
    FlatRow row;
    columns(job, writer(row));
    flatten_list(row, "stages", job.spec.stages);
    flatten_list(row, "suites", job.spec.evaluation.suites);
    flatten_list(row, "prompts", job.spec.evaluation.prompts);
    return row;
}
FlatRow flatten(const Attempt& attempt) {
    return flatten(attempt, "ranks", attempt.ranks);
}
FlatRow flatten(const Node& node) {
    return flatten(node, "devices", node.inventory.devices);
}
FlatRow flatten(const KeptProfile& profile) {
    FlatRow row;
    columns(profile, writer(row));
    return row;
}
FlatRow flatten_meta(const State& state) {
    FlatRow row;
    columns(state, writer(row));
    return row;
}

std::vector<Field> difference(const FlatRow& before, const FlatRow& after) {
    std::vector<Field> fields;
    for (const auto& [name, value] : after) {
        const auto it = before.find(name);
        if (it == before.end() || it->second != value) fields.push_back({name, value});
    }
    for (const auto& [name, value] : before) {
        if (!after.contains(name)) fields.push_back({name, std::nullopt});
    }
    return fields;
}

bool is_note(std::string_view kind) {
    return kind.ends_with(".link_degraded") || kind.ends_with(".link_restored");
}

std::string subject_of(const Job& job) {
    return "job/" + job.id.value;
}
std::string subject_of(const Attempt& attempt) {
    return format("attempt/{}", attempt.epoch);
}
std::string subject_of(const Node& node) {
    return "node/" + node.id.value;
}
std::string subject_of(const KeptProfile& profile) {
    return format("profile/{}/{}", profile.measured.kind, profile.measured.driver);
}

}  // namespace rm
