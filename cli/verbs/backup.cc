#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/document.h"
#include "cli/verb.h"
#include "ringmaster/v1/admin.grpc.pb.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

struct BackupOptions : VerbOptions {
    std::string file = add("FILE", file, "The new copy", {.required = true});
    bool force = add("--force", force, "Overwrite FILE if it exists");
    OutputFormat output = add_output(output, "table|json|yaml");
};

Result<ExitCode> run_backup(const BackupOptions& options, VerbContext& context) {
    std::error_code failed;
    if (!options.force && std::filesystem::exists(options.file, failed)) {
        return make_error(ErrorCode::already_exists, "{} exists; --force overwrites it",
                          options.file);
    }
    RM_TRY(Client client, context.connect());
    const std::string part = options.file + ".part";
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    std::size_t num_bytes = 0;
    Status status =
        client.stream(&pb::AdminService::Stub::Backup, {}, {}, [&](const pb::BackupPiece& piece) {
            file << piece.data();
            num_bytes += piece.data().size();
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
    print_json(context.console.out.stream, done.dump(), options.output);
    return ExitCode::ok;
}

}  // namespace

Verb backup_verb() {
    return verb_of("backup", "Copy the controller's database while it runs", run_backup,
                   {{"ringmaster backup monday.db", "while the controller runs"}});
}

}  // namespace rm
