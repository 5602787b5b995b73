#pragma once

#include <map>
#include <string>

#include "controller/core/event.h"

// The event log folded from its start gives the tables.
namespace rm {

using Tables = std::map<std::string, FlatRow>;  // by subject

inline Tables flatten_tables(const State& state) {
    Tables tables;
    tables[kMetaSubject] = flatten_meta(state);
    for (const auto& [id, job] : state.jobs)
        tables[subject_of(job)] = flatten(job);
    for (const auto& [epoch, attempt] : state.attempts) {
        tables[subject_of(attempt)] = flatten(attempt);
    }
    for (const auto& [id, node] : state.nodes)
        tables[subject_of(node)] = flatten(node);
    for (const auto& [key, profile] : state.profiles)
        tables[subject_of(profile)] = flatten(profile);
    return tables;
}

// Notes change nothing.
inline void fold(Tables& tables, const AuditEvent& event) {
    if (is_note(event.kind)) return;
    FlatRow& row = tables[event.subject];
    for (const Field& field : event.fields) {
        if (field.value) {
            row[field.name] = *field.value;
        } else {
            row.erase(field.name);
        }
    }
}

}  // namespace rm
