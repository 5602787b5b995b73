#include "service/curves/run_files.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/text.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

double unix_seconds(WallTime time) {
    return static_cast<double>(time.micros) * 1e-6;
}

Error cannot(std::string_view doing, const std::string& path) {
    return make_error(ErrorCode::unavailable, "cannot {} {}: {}", doing, path,
                      std::strerror(errno));
}

Status append(const std::string& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::app | std::ios::binary);
    file << bytes << std::flush;
    if (file) return {};
    return cannot("append to", path);
}

// The number behind "name": in a line of this file's own form; nothing if it has none.
std::optional<std::int64_t> whole_in(std::string_view line, std::string_view name) {
    const std::string key = format("\"{}\":", name);
    const std::size_t at = line.find(key);
    if (at == line.npos) return std::nullopt;
    const std::string_view rest = line.substr(at + key.size());
    return parse_number<std::int64_t>(rest.substr(0, rest.find_first_of(",}")));
}

// The offset behind the last whole line whose step is below `step`, and that line.
struct Kept {
    std::uintmax_t bytes = 0;
    std::string line;
};

// The same, of the file from `begin` on; nothing kept where that part has no such line.
Kept lines_below(std::ifstream& file, std::uintmax_t begin, std::int64_t step) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(begin));
    std::string line;
    std::uintmax_t at = begin;
    // Unless it begins the file, the first line is the end of one.
    if (begin > 0 && std::getline(file, line)) at += line.size() + 1;
    Kept kept;
    while (std::getline(file, line) && !file.eof()) {
        at += line.size() + 1;
        const auto number = whole_in(line, "step");
        if (number && *number < step) kept = {at, std::move(line)};
    }
    return kept;
}

// Looks at the end first: a run of a million steps has hundreds of megabytes, and goes back by few.
Kept lines_below(const std::string& path, std::uintmax_t size, std::int64_t step) {
    std::ifstream file(path, std::ios::binary);
    for (std::uintmax_t window = 1 << 16;; window *= 4) {
        const std::uintmax_t begin = size > window ? size - window : 0;
        Kept kept = lines_below(file, begin, step);
        if (kept.bytes > 0 || begin == 0) return kept;
    }
}

// Drops a last line that was cut off, and the lines from `step` on.
Result<std::optional<RunFiles::Position>> keep_below(const std::string& path, std::int64_t step) {
    std::error_code failure;
    const std::uintmax_t size = fs::file_size(path, failure);
    if (failure) return std::optional<RunFiles::Position>();  // there is none yet
    const Kept kept = lines_below(path, size, step);
    fs::resize_file(path, kept.bytes, failure);
    if (failure) {
        return make_error(ErrorCode::unavailable, "cannot shorten {}: {}", path, failure.message());
    }
    if (kept.bytes == 0) return std::optional<RunFiles::Position>();
    return std::optional<RunFiles::Position>(
        {whole_in(kept.line, "attempt").value_or(0), whole_in(kept.line, "step").value_or(0)});
}

std::int64_t count_event_files(const std::string& directory) {
    std::int64_t count = 0;
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(directory, failure))
        count += entry.path().filename().string().starts_with("events.out.tfevents.");
    return count;
}

std::string json_number(double value) {
    return std::isfinite(value) ? format("{}", value) : "null";
}

}  // namespace

std::string jsonl_line(const CurveRow& row) {
    std::string line = format("{{\"step\":{},\"time\":\"{}\",\"attempt\":{}", row.step,
                              to_iso8601(row.time), row.attempt);
    for (const auto& [name, value] : row.values) {
        line += format(",\"{}\":{}", name, json_number(value));
    }
    return line + '}';
}

Result<RunFiles> RunFiles::open(const std::string& directory, const std::string& host) {
    std::error_code failure;
    fs::create_directories(directory, failure);
    if (failure) {
        return make_error(ErrorCode::unavailable, "cannot make {}: {}", directory,
                          failure.message());
    }
    constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
    RM_TRY(const auto last, keep_below(directory + "/metrics.jsonl", kAll));
    return RunFiles(directory, host, last);
}

// Event files are never rewritten: a reader may be in the middle of one.
Status RunFiles::begin_session(const CurveRow& first) {
    if (last_ && first.step <= last_->step) {
        RM_TRY(last_, keep_below(lines_path(), first.step));
    }
    const double time = unix_seconds(first.time);
    events_path_ = format(
        "{}/{}", directory_,
        event_file_name(first.time.micros / 1'000'000, host_, count_event_files(directory_)));
    return append(events_path_, event_file_head(time) + session_event(time, first.step));
}

Status RunFiles::write(const std::string& lines, const std::string& events) {
    if (lines.empty()) return {};
    RM_RETURN_IF_ERROR(append(events_path_, events));
    return append(lines_path(), lines);
}

Status RunFiles::add(const std::vector<CurveRow>& rows) {
    std::string lines;
    std::string events;
    for (const CurveRow& row : rows) {
        const bool begins = events_path_.empty() || !last_ || row.attempt != last_->attempt;
        if (begins) {
            RM_RETURN_IF_ERROR(write(std::exchange(lines, {}), std::exchange(events, {})));
            RM_RETURN_IF_ERROR(begin_session(row));
        }
        lines += jsonl_line(row) + '\n';
        events += scalar_event(unix_seconds(row.time), row.step, row.values);
        last_ = Position{row.attempt, row.step};
    }
    return write(lines, events);
}

}  // namespace rm
