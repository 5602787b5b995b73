#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/document.h"
#include "cli/up/daemon.h"
#include "cli/verbs/verbs.h"

namespace rm {

Result<ExitCode> run_verb(const BackupOptions& options, VerbContext& context) {
    std::error_code failed;
    if (!options.force && std::filesystem::exists(options.file, failed)) {
        return make_error(ErrorCode::already_exists, "{} exists; --force overwrites it",
                          options.file);
    }
    RM_TRY(Client client, context.connect());
    const std::string part = options.file + ".part";
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    std::size_t num_bytes = 0;
    Status status = client.backup({}, [&](const std::string& bytes) {
        file << bytes;
        num_bytes += bytes.size();
    });
    file.close();
    if (status && !file) {
        status = make_error(ErrorCode::unavailable, "cannot write {}", part);
    }
    if (status && std::rename(part.c_str(), options.file.c_str()) != 0) {
        status = make_error(ErrorCode::unavailable, "cannot rename {} to {}: {}", part,
                            options.file, std::strerror(errno));
    }
    if (!status) {
        std::remove(part.c_str());
        return status.error();
    }
    context.console.note("backed up to " + options.file);
    if (options.output == OutputFormat::table) return ExitCode::ok;
    const nlohmann::ordered_json done = {{"file", options.file}, {"bytes", num_bytes}};
    print_json(context.console.out.stream, done.dump(), document_format(options.output));
    return ExitCode::ok;
}

// The controller's own program reads and writes its databases.
Result<ExitCode> run_verb(const RestoreOptions& options, VerbContext&) {
    RM_TRY(const std::string program, program_beside_this("ringmaster-controller"));
    ::execl(program.c_str(), program.c_str(), "--state", options.state_dir.c_str(), "--restore",
            options.file.c_str(), static_cast<char*>(nullptr));
    return make_error(ErrorCode::internal, "cannot start {}: {}", program, std::strerror(errno));
}

}  // namespace rm
