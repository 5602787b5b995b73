#include "cli/screen/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace rm {
namespace {

constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l";  // the alternate page, no cursor
constexpr const char* kLeave = "\x1b[?25h\x1b[?1049l";
constexpr const char* kPlain = "\x1b[0m";

winsize size_of_terminal() {
    winsize size{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    if (!known || size.ws_col == 0) size.ws_col = 80;
    if (!known || size.ws_row == 0) size.ws_row = 24;
    return size;
}

// Where the escape that begins at `at` ends.
std::size_t end_of_escape(const std::string& line, std::size_t at) {
    const std::size_t end = line.find_first_of("mHJK", at);
    return end == std::string::npos ? line.size() : end + 1;
}

bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

std::string cut_to_width(const std::string& line, int columns) {
    std::size_t at = 0;
    bool colored = false;
    for (int used = 0; at < line.size();) {
        if (line[at] == '\x1b') {
            at = end_of_escape(line, at);
            colored = true;
            continue;
        }
        if (!continues_character(line[at]) && used++ >= columns) break;
        ++at;
    }
    return line.substr(0, at) + (at < line.size() && colored ? kPlain : "");
}

Screen::Screen(Output& out, const ConsoleInput& in) : out_(out) {
    keys_ = in.terminal && tcgetattr(STDIN_FILENO, &before_) == 0;
    if (keys_) {
        termios raw = before_;
        raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C stays a signal
        raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // a shell would not leave the alternate page
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    out_.stream << kEnter << std::flush;
}

Screen::~Screen() {
    out_.stream << kLeave << std::flush;
    if (keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void Screen::draw(const std::vector<std::string>& lines) {
    const winsize size = size_of_terminal();
    columns_ = size.ws_col;
    rows_ = size.ws_row;
    out_.width = columns_;
    const std::size_t shown = std::min(lines.size(), usize(rows_));
    std::string page = "\x1b[H";
    for (std::size_t i = 0; i < shown; ++i) {
        page += cut_to_width(lines[i], std::max(1, columns_ - 1)) + "\x1b[K";
        if (i + 1 < shown) page += "\r\n";
    }
    out_.stream << page << "\x1b[J" << std::flush;
}

bool Screen::resized() const {
    const winsize size = size_of_terminal();
    return size.ws_col != columns_ || size.ws_row != rows_;
}

std::optional<char> Screen::key(Seconds limit) {
    pollfd ready{keys_ ? STDIN_FILENO : -1, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(limit.value * 1e3)) <= 0) return std::nullopt;
    char key = 0;
    if (read(STDIN_FILENO, &key, 1) == 1) return key;
    keys_ = false;  // the terminal has gone: no more keys
    return std::nullopt;
}

}  // namespace rm
