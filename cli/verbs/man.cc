#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/command_line.h"
#include "cli/shell.h"
#include "cli/up/daemon.h"
#include "cli/verb.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

struct ManOptions : VerbOptions {
    std::string directory =
        add("DIR", directory, "Write all pages there; without DIR, ringmaster(1) goes to stdout");
};

Status write_page(const std::string& directory, const std::string& file, const std::string& text) {
    const std::string path = (fs::path(directory) / file).string();
    std::ofstream out(path);
    out << text << std::flush;
    if (out) return {};
    return make_error(ErrorCode::internal, "cannot write {}: {}", path, std::strerror(errno));
}

// The daemons print their own pages: only they know their options.
Result<ExitCode> run_man(const ManOptions& options, VerbContext& context) {
    const std::vector<ManPage> pages = command_line_pages();
    if (options.directory.empty()) {
        context.console.out.stream << to_man(pages.front());
        return ExitCode::ok;
    }
    std::error_code failed;
    fs::create_directories(options.directory, failed);
    for (const ManPage& page : pages) {
        RM_RETURN_IF_ERROR(
            write_page(options.directory, format("{}.{}", page.name, page.number), to_man(page)));
    }
    for (const char* name : {"ringmaster-controller", "ringmaster-worker"}) {
        RM_TRY(const std::string program, program_beside_this(name));
        RM_TRY(const std::string page, output_of(shell_word(program) + " --man"));
        RM_RETURN_IF_ERROR(write_page(options.directory, format("{}.8", name), page));
    }
    context.console.note(format("{} pages in {}; `man -l {}/ringmaster.1` shows the first",
                                pages.size() + 2, options.directory, options.directory));
    return ExitCode::ok;
}

}  // namespace

Verb man_verb() {
    return verb_of("man", "Print or write the manual pages", run_man,
                   {{"ringmaster man man1", "then: man -l man1/ringmaster.1"}});
}

}  // namespace rm
