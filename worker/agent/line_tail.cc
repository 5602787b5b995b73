#include "worker/agent/line_tail.h"

#include "worker/dir/files.h"

namespace rm {

std::vector<LineTail::Line> LineTail::take(std::int64_t limit) {
    const std::string piece = read_file_piece(path_, offset_, limit);
    const std::int64_t start = offset_;
    std::vector<Line> lines;
    std::size_t begin = 0;
    for (std::size_t end = piece.find('\n'); end != std::string::npos;
         end = piece.find('\n', begin)) {
        offset_ = start + static_cast<std::int64_t>(end) + 1;
        lines.push_back({piece.substr(begin, end - begin), offset_});
        begin = end + 1;
    }
    return lines;
}

}  // namespace rm
