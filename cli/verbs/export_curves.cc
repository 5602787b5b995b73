#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"
#include "cli/client/calls.h"
#include "cli/client/curves.h"
#include "cli/verb.h"
#include "service/curves/run_files.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

struct ExportCurvesOptions : VerbOptions {
    std::string id = add("ID", id, kJobHelp, required_text());
    std::string to = add("--format", to, "What to write [tensorboard]",
                         one_word_of("tensorboard|jsonl|csv"), "tensorboard");
    std::string out = add("--out", out, "Directory for the file [.]", {.type = "DIR"}, ".");
    int rank = add("--rank", rank, "The rank whose curves to write [0]", number_from(0), 0);
};

std::string csv_of(const std::map<std::int64_t, CurveRow>& rows,
                   const std::vector<std::string>& quantities) {
    std::string text = "step,time," + join(quantities, ",") + "\n";
    for (const auto& [step, row] : rows) {
        text += format("{},{}{}\n", step, to_iso8601(row.time), csv_values(row, quantities));
    }
    return text;
}

std::string jsonl_of(const std::map<std::int64_t, CurveRow>& rows) {
    std::string text;
    for (const auto& [step, row] : rows)
        text += jsonl_line(row) + '\n';
    return text;
}

std::string events_of(const std::map<std::int64_t, CurveRow>& rows) {
    std::string bytes;
    for (const auto& [step, row] : rows) {
        const double time = static_cast<double>(row.time.micros) * 1e-6;
        if (bytes.empty()) bytes = event_file_head(time);
        bytes += scalar_event(time, step, row.values);
    }
    return bytes;
}

struct ExportedFile {
    std::string name;
    std::string bytes;
};

ExportedFile file_of(const ExportCurvesOptions& options, const std::string& id,
                     const std::map<std::int64_t, CurveRow>& rows,
                     const std::vector<std::string>& quantities) {
    if (options.to == "csv") return {id + ".csv", csv_of(rows, quantities)};
    if (options.to == "jsonl") return {id + ".jsonl", jsonl_of(rows)};
    const std::int64_t began = rows.begin()->second.time.micros / 1'000'000;
    return {event_file_name(began, id, 0), events_of(rows)};
}

Status write_whole(const fs::path& directory, const ExportedFile& file) {
    std::error_code failure;
    fs::create_directories(directory, failure);
    std::ofstream stream(directory / file.name, std::ios::binary | std::ios::trunc);
    stream << file.bytes << std::flush;
    if (stream) return {};
    return make_error(ErrorCode::unavailable, "cannot write {}", (directory / file.name).string());
}

Result<ExitCode> run_export_curves(const ExportCurvesOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const std::string id, find_job(client, options.id));
    pb::StepsRequest request;
    request.set_job_id(id);
    request.add_ranks(options.rank);
    RM_TRY(const pb::StepsReply known, read_curves(client, request));
    *request.mutable_quantities() = known.quantities();
    RM_TRY(const pb::StepsReply reply, read_curves(client, request));
    const auto rows = rows_of(reply);
    if (rows.empty()) {
        return make_error(ErrorCode::failed_precondition, "rank {} of job {} has no steps yet",
                          options.rank, id);
    }
    const ExportedFile file =
        file_of(options, id, rows, {known.quantities().begin(), known.quantities().end()});
    // TensorBoard takes each directory for a run.
    const fs::path below =
        options.to == "tensorboard" ? fs::path(options.out) / id : fs::path(options.out);
    RM_RETURN_IF_ERROR(write_whole(below, file));
    context.console.out.stream << (below / file.name).string() << '\n';
    return ExitCode::ok;
}

}  // namespace

Verb export_curves_verb() {
    return verb_of(
        "export-curves", "Write the curves of a job as a file for other tools", run_export_curves,
        {{"ringmaster export-curves a1b2c3 --out runs", "then tensorboard --logdir runs"},
         {"ringmaster export-curves a1b2c3 --format csv", "for a spreadsheet"}});
}

}  // namespace rm
