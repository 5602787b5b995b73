#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rm {

// The complete lines of a growing file, each returned once.
class LineTail {
public:
    struct Line {
        std::string text;         // without '\n'
        std::int64_t end_offset;  // in the file, after its '\n'
    };

    explicit LineTail(std::string path, std::int64_t offset = 0)
        : path_(std::move(path)), offset_(offset) {}

    // The lines that begin within the next `limit` bytes; none when no line is complete. A line
    // must fit the limit.
    std::vector<Line> take(std::int64_t limit);
    std::int64_t offset() const { return offset_; }

private:
    std::string path_;
    std::int64_t offset_;
};

}  // namespace rm
