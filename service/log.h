#pragma once

#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/format.h"

// Logs are events with fields, one line each on stderr:
//   2026-01-02T03:04:05.123456Z info ringmaster-worker session_up node=n4f2 address="unix:/run/a b"
namespace rm {

enum class LogLevel { debug, info, warning, error };
std::string_view to_string(LogLevel level);

// `key` is a word; `value` anything that rm::format prints.
struct LogField {
    template <typename T>
    LogField(std::string_view key_, const T& value_) : key(key_), value(format("{}", value_)) {}

    std::string_view key;
    std::string value;
};

// The event and its fields as they stand on a line: values with blanks, quotes or nothing in them
// are quoted, control characters escaped, so that a line stays a line.
std::string format_event(std::string_view event, std::initializer_list<LogField> fields);

// First in main(), before any other thread. Until then events go to stderr, too, under the name
// "ringmaster".
void init_logging(std::string_view program, LogLevel least = LogLevel::info);

// From any thread. `event` is a snake_case word.
void log_event(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});

// An event that may come every few seconds for days, such as a refused session. It is logged when
// its reason is a new one; the same reason again only after a pause that doubles from one minute to
// one hour, with how often it has come since it was logged last. Thread safe.
class RepeatedEvent {
public:
    explicit RepeatedEvent(std::string event) : event_(std::move(event)) {}

    // Whether it was logged.
    bool came(LogLevel level, const std::string& reason, MonoTime now);
    // The trouble has ended: the next event is logged whatever its reason.
    void over();

private:
    const std::string event_;
    std::mutex mutex_;
    std::string reason_;
    MonoTime logged_;
    Seconds pause_;  // 0: no event has come yet
    int unlogged_ = 0;
};

}  // namespace rm
