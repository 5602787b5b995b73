#include "service/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace rm {
namespace {

struct Level {
    std::string_view name;
    spdlog::level::level_enum spdlog;
};

// In the order of LogLevel.
constexpr std::array<Level, 4> kLevels = {{{"debug", spdlog::level::debug},
                                           {"info", spdlog::level::info},
                                           {"warning", spdlog::level::warn},
                                           {"error", spdlog::level::err}}};

const Level& at(LogLevel level) {
    return kLevels.at(usize(level));
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
    return at(level).spdlog;
}

bool is_plain(unsigned char c) {
    return c > ' ' && c != '"' && c != '=' && c != '\\' && c != 0x7f;
}

void append_escaped(std::string& out, char c) {
    if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
    } else if (c == '\n') {
        out += "\\n";
    } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
        out += format("\\x{:02x}", static_cast<int>(c));
    } else {
        out += c;
    }
}

void append_value(std::string& out, std::string_view value) {
    if (!value.empty() && std::all_of(value.begin(), value.end(), is_plain)) {
        out += value;
        return;
    }
    out += '"';
    for (const char c : value)
        append_escaped(out, c);
    out += '"';
}

// spdlog's registry is the second owner of sink and logger: its interface asks for shared_ptr.
std::shared_ptr<spdlog::logger> make_logger(std::string_view program, LogLevel least) {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    auto logger = std::make_shared<spdlog::logger>(std::string(program), std::move(sink));
    logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
        "%Y-%m-%dT%H:%M:%S.%fZ %l %n %v", spdlog::pattern_time_type::utc));
    logger->set_level(to_spdlog(least));
    return logger;
}

// The library's own first logger has no name and writes to stdout, which is for data.
spdlog::logger& current_logger() {
    static const std::shared_ptr<spdlog::logger> early = make_logger("ringmaster", LogLevel::info);
    spdlog::logger* chosen = spdlog::default_logger_raw();
    return chosen->name().empty() ? *early : *chosen;
}

constexpr Seconds kFirstPause{60};
constexpr Seconds kLongestPause{3600};

}  // namespace

std::string_view to_string(LogLevel level) {
    return at(level).name;
}

std::string format_event(std::string_view event, std::initializer_list<LogField> fields) {
    std::string line(event);
    for (const LogField& field : fields) {
        line += ' ';
        line += field.key;
        line += '=';
        append_value(line, field.value);
    }
    return line;
}

void init_logging(std::string_view program, LogLevel least) {
    spdlog::set_default_logger(make_logger(program, least));
}

void log_event(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
    spdlog::logger& logger = current_logger();
    if (!logger.should_log(to_spdlog(level))) return;
    const std::string line = format_event(event, fields);
    logger.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

bool RepeatedEvent::came(LogLevel level, const std::string& reason, MonoTime now) {
    const std::lock_guard lock(mutex_);
    const bool known = pause_.value > 0 && reason == reason_;
    if (known && now - logged_ < pause_) return ++unlogged_, false;
    pause_ = known ? std::min(Seconds{2 * pause_.value}, kLongestPause) : kFirstPause;
    reason_ = reason;
    logged_ = now;
    const int missed = std::exchange(unlogged_, 0);
    if (missed == 0) {
        log_event(level, event_, {{"reason", reason}});
    } else {
        log_event(level, event_, {{"reason", reason}, {"times_unlogged", missed}});
    }
    return true;
}

void RepeatedEvent::over() {
    const std::lock_guard lock(mutex_);
    pause_ = Seconds{0};
    unlogged_ = 0;
}

}  // namespace rm
