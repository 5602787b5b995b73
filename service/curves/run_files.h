#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "service/curves/event_file.h"

// The curves of one run as files that other tools read.
namespace rm {

// The content of a line or an event about a step.
struct CurveRow {
    std::int64_t attempt = 0;
    std::int64_t step = 0;
    WallTime time;
    NamedValues values;
};

// {"step":17,"time":"2026-01-02T03:04:05Z","attempt":3,"loss":2.81,"phase/attention":0.2}, without
// a line break. A number that is not finite is null.
std::string jsonl_line(const CurveRow& row);

// A directory with metrics.jsonl and TensorBoard event files, to which rows are added while the run
// goes on. Rows of a later attempt replace those of the same and later steps: in metrics.jsonl
// their lines go, in event files a session begins, from which readers drop them.
class RunFiles {
public:
    // Makes the directory. `host` is in the names of event files.
    static Result<RunFiles> open(const std::string& directory, const std::string& host);

    // The last row; nothing: there is none.
    struct Position {
        std::int64_t attempt = 0;
        std::int64_t step = 0;
    };
    const std::optional<Position>& last() const { return last_; }

    // Adds the rows of a batch, in order. After an error the files may lack its last rows.
    Status add(const std::vector<CurveRow>& rows);

private:
    RunFiles(std::string directory, std::string host, std::optional<Position> last)
        : directory_(std::move(directory)), host_(std::move(host)), last_(last) {}

    std::string lines_path() const { return directory_ + "/metrics.jsonl"; }
    Status begin_session(const CurveRow& first);
    Status write(const std::string& lines, const std::string& events);

    std::string directory_;
    std::string host_;
    std::optional<Position> last_;
    std::string events_path_;  // empty until the first row
};

}  // namespace rm
