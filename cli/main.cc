#include <string_view>

#include "base/os/end_process.h"
#include "cli/command_line.h"
#include "cli/up/daemon.h"
#include "service/log.h"

namespace {

int exit_status(rm::ExitCode code) {
    return static_cast<int>(code);
}

rm::ExitCode run(const rm::CommandLine& line, rm::Console& console) {
    const rm::SystemClock clock;
    rm::VerbContext context{console, clock, line.target};
    const auto code = line.command->run(context);
    if (code) return *code;
    return rm::complain(console, code.error(),
                        context.misused ? rm::ExitCode::usage : rm::exit_code_of(code.error()));
}

int run_line(int argc, char** argv) {
    // Libraries' warnings are not shown: their causes come back as errors, in our words.
    rm::init_logging("ringmaster", rm::LogLevel::error);
    rm::Console console = rm::process_console();
    const auto parsed = rm::parse_command_line(argc, argv);
    if (const auto* end = std::get_if<rm::CommandLineEnd>(&parsed)) {
        console.out.stream << end->out;
        console.err.stream << end->err;
        return exit_status(end->code);
    }
    try {
        return exit_status(run(std::get<rm::CommandLine>(parsed), console));
    } catch (const std::exception& error) {
        console.note(rm::format("ringmaster: internal error: {}", error.what()));
        return exit_status(rm::ExitCode::error);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == rm::kChildVerb)
        return rm::run_child(argc - 2, argv + 2);
    rm::end_process(run_line(argc, argv));
}
