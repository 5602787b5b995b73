#pragma once

#include <mutex>
#include <string>

#include "cli/screen/console.h"
#include "ringmaster/v1/job.pb.h"

namespace rm {

// json: each line is an object of `rank`, `time` and `text`.
enum class LogStamp { none, time, json };

// Turns pieces of one rank's log into lines. Without a prefix and a stamp, passes bytes unchanged,
// except control characters on a terminal; with one (for json the prefix is the rank's number),
// holds each line until it is complete, so that those of several ranks never mix. Printers of one
// output share its lock.
class LogPrinter {
public:
    LogPrinter(const Output& out, std::mutex& lock, std::string prefix, LogStamp stamp)
        : out_(out), lock_(lock), prefix_(std::move(prefix)), stamp_(stamp) {}
    ~LogPrinter() { finish(); }
    LogPrinter(const LogPrinter&) = delete;
    LogPrinter& operator=(const LogPrinter&) = delete;

    void add(const ringmaster::v1::LogPiece& piece);
    void finish();  // prints a last line without a newline

private:
    std::string whole(const std::string& line) const;
    void write(const std::string& text);

    const Output& out_;
    std::mutex& lock_;
    const std::string prefix_;
    const LogStamp stamp_;
    std::string line_;  // incomplete
    std::string time_;  // when it began; empty: unknown
};

}  // namespace rm
