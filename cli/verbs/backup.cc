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
    std::string telemetry =
        add("--telemetry", telemetry, "Copy the curves, reports and surveys, too, to this file",
            {.type = "FILE"});
    bool force = add("--force", force, "Overwrite files that exist");
    OutputFormat output = add_output(output, "table|json|yaml");
};

Status check_free(const std::string& path, bool force) {
    std::error_code failed;
    if (force || path.empty() || !std::filesystem::exists(path, failed)) return {};
    return make_error(ErrorCode::already_exists, "{} exists; --force overwrites it", path);
}

Status put_in_place(const std::string& part, const std::string& path) {
    if (std::rename(part.c_str(), path.c_str()) == 0) return {};
    return make_error(ErrorCode::unavailable, "cannot rename {} to {}: {}", part, path,
                      std::strerror(errno));
}

// The file's size.
Result<std::size_t> copy_to(const std::string& path, Client& client,
                            const pb::BackupRequest& request) {
    const std::string part = path + ".part";
    std::ofstream file(part, std::ios::binary | std::ios::trunc);
    std::size_t num_bytes = 0;
    Status status = client.stream(&pb::AdminService::Stub::Backup, request, {},
                                  [&](const pb::BackupPiece& piece) {
                                      file << piece.data();
                                      num_bytes += piece.data().size();
                                  });
    file.close();
    if (status && !file) status = make_error(ErrorCode::unavailable, "cannot write {}", part);
    if (status) status = put_in_place(part, path);
    if (status) return num_bytes;
    std::remove(part.c_str());
    return status.error();
}

Result<ExitCode> run_backup(const BackupOptions& options, VerbContext& context) {
    for (const std::string& path : {options.file, options.telemetry})
        RM_RETURN_IF_ERROR(check_free(path, options.force));
    RM_TRY(Client client, context.connect());
    pb::BackupRequest request;
    RM_TRY(const std::size_t bytes, copy_to(options.file, client, request));
    nlohmann::ordered_json done = {{"file", options.file}, {"bytes", bytes}};
    std::string files = options.file;
    if (!options.telemetry.empty()) {
        request.set_telemetry(true);
        RM_TRY(const std::size_t more, copy_to(options.telemetry, client, request));
        done["telemetry"] = options.telemetry;
        done["telemetryBytes"] = more;
        files += " and " + options.telemetry;
    }
    context.console.note("backed up to " + files);
    if (options.output == OutputFormat::table) return ExitCode::ok;
    print_json(context.console.out.stream, done.dump(), options.output);
    return ExitCode::ok;
}

}  // namespace

Verb backup_verb() {
    return verb_of("backup", "Copy the controller's database while it runs", run_backup,
                   {{"ringmaster backup monday.db", "while the controller runs"},
                    {"ringmaster backup monday.db --telemetry monday_telemetry.db",
                     "with the curves of all jobs"}});
}

}  // namespace rm
