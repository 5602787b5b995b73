#include "cli/screen/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace rm {
namespace {

std::string_view escape_of(Color color) {
    switch (color) {
        case Color::none:
            return "";
        case Color::green:
            return "\x1b[32m";
        case Color::yellow:
            return "\x1b[33m";
        case Color::red:
            return "\x1b[31m";
        case Color::blue:
            return "\x1b[34m";
        case Color::magenta:
            return "\x1b[35m";
        case Color::cyan:
            return "\x1b[36m";
        case Color::dim:
            return "\x1b[2m";
    }
    return "";
}

bool is_terminal(int fd) {
    const char* term = std::getenv("TERM");
    const bool dumb = term != nullptr && std::string_view(term) == "dumb";
    return isatty(fd) != 0 && !dumb;
}

// https://no-color.org: set and not empty, whatever the value.
bool wants_color() {
    const char* no_color = std::getenv("NO_COLOR");
    return no_color == nullptr || *no_color == '\0';
}

int columns_of(int fd) {
    winsize size{};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

Output make_output(std::ostream& stream, int fd) {
    const bool terminal = is_terminal(fd);
    return {stream, terminal, terminal && wants_color(), columns_of(fd)};
}

}  // namespace

std::string Output::paint(std::string_view text, Color wanted) const {
    if (!color || wanted == Color::none) return std::string(text);
    return std::string(escape_of(wanted)) + std::string(text) + "\x1b[0m";
}

std::string Output::data(std::string_view text) const {
    return terminal ? printable(text) : std::string(text);
}

void print_hanging(const Output& out, std::string head, std::size_t indent, std::string_view text,
                   std::size_t width) {
    for (const std::string& line : wrapped(printable(text), width)) {
        out.stream << head << line << '\n';
        head.assign(indent, ' ');
    }
}

bool Console::confirm(std::string_view question) {
    if (!in.terminal || !err.terminal) return true;
    err.stream << question << " [y/N] " << std::flush;
    std::string answer;
    std::getline(in.stream, answer);
    return answer.starts_with('y') || answer.starts_with('Y');
}

Console process_console() {
    return {make_output(std::cout, STDOUT_FILENO),
            make_output(std::cerr, STDERR_FILENO),
            {std::cin, is_terminal(STDIN_FILENO)}};
}

ExitCode exit_code_of(const Error& error) {
    switch (error.code) {
        case ErrorCode::cancelled:
            return ExitCode::interrupted;
        case ErrorCode::deadline_exceeded:
            return ExitCode::timed_out;
        case ErrorCode::not_found:
            return ExitCode::not_found;
        case ErrorCode::permission_denied:
        case ErrorCode::unauthenticated:
            return ExitCode::denied;
        case ErrorCode::invalid_argument:
        case ErrorCode::already_exists:
        case ErrorCode::resource_exhausted:
        case ErrorCode::failed_precondition:
        case ErrorCode::out_of_range:
        case ErrorCode::unimplemented:
            return ExitCode::rejected;
        case ErrorCode::unknown:
        case ErrorCode::aborted:
        case ErrorCode::internal:
        case ErrorCode::unavailable:
        case ErrorCode::data_loss:
            return ExitCode::error;
    }
    return ExitCode::error;
}

}  // namespace rm
