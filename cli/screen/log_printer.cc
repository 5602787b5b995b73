#include "cli/screen/log_printer.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "service/convert/convert.h"

namespace rm {

// The line with its head and its end.
std::string LogPrinter::whole(const std::string& line) const {
    switch (stamp_) {
        case LogStamp::none:
            return prefix_ + line + "\n";
        case LogStamp::time:
            return prefix_ + (time_.empty() ? std::string(20, '-') : time_) + " " + line + "\n";
        case LogStamp::json:
            break;
    }
    using Json = nlohmann::ordered_json;
    const Json time = time_.empty() ? Json() : Json(time_);
    const Json object = {{"rank", std::stoi(prefix_)}, {"time", time}, {"text", line}};
    return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void LogPrinter::write(const std::string& text) {
    const std::lock_guard guard(lock_);
    out_.stream << out_.data(text) << std::flush;
}

void LogPrinter::add(const ringmaster::v1::LogPiece& piece) {
    if (prefix_.empty() && stamp_ == LogStamp::none) return write(piece.data());
    const std::string time = piece.has_time() ? to_iso8601(from_proto(piece.time())) : "";
    std::string text;
    for (const char c : piece.data()) {
        if (line_.empty()) time_ = time;
        if (c != '\n') {
            line_ += c;
            continue;
        }
        text += whole(line_);
        line_.clear();
    }
    if (!text.empty()) write(text);
}

void LogPrinter::finish() {
    if (line_.empty()) return;
    write(whole(line_));
    line_.clear();
}

}  // namespace rm
