#pragma once

#include <string>
#include <vector>

#include "controller/core/event.h"
#include "controller/store/sqlite.h"

namespace rm {

// The whole event log of a control.db, oldest first.
inline Result<std::vector<AuditEvent>> read_events(const std::string& path) {
    RM_TRY(Database database, Database::open(path, Access::read));
    RM_TRY(Statement rows,
           database.prepare("SELECT seq, time, kind, subject, key, value, type FROM events, "
                            "json_each(fields) ORDER BY seq, json_each.id"));
    std::vector<AuditEvent> events;
    std::int64_t last = -1;
    while (true) {
        RM_TRY(const bool more, rows.step());
        if (!more) return events;
        if (rows.whole(0) != last) {
            last = rows.whole(0);
            events.push_back({{rows.whole(1)}, rows.text(2), rows.text(3), {}});
        }
        Field field{rows.text(4), std::nullopt};
        if (rows.text(6) != "null") field.value = rows.text(5);
        events.back().fields.push_back(std::move(field));
    }
}

}  // namespace rm
