#include "worker/dir/attempt_dir.h"

#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "worker/dir/files.h"

namespace rm {
namespace {

using nlohmann::json;

// Runs `read` over the parsed text; turns missing values and wrong types into one error.
template <typename File, typename Read>
Result<File> parse_file(std::string_view text, std::string_view what, Read read) {
    try {
        return read(json::parse(text));
    } catch (const json::exception& error) {
        return make_error(ErrorCode::data_loss, "{} cannot be read: {}", what, error.what());
    }
}

// Last words may hold any bytes.
std::string dump(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json process_to_json(const ProcessId& process) {
    return {{"pid", process.pid}, {"start_ticks", process.start_ticks}};
}

ProcessId process_from_json(const json& value) {
    return {value.at("pid").get<pid_t>(), value.at("start_ticks").get<std::uint64_t>()};
}

json orphan_to_json(const OrphanPolicy& orphan) {
    return {{"mode", to_string(orphan.mode)},
            {"timeout_seconds", orphan.timeout.value},
            {"grace_seconds", orphan.grace.value}};
}

}  // namespace

AttemptDir AttemptDir::of_epoch(const std::string& attempts_dir, Epoch epoch) {
    return AttemptDir(format("{}/e{}", attempts_dir, epoch));
}

std::string to_json(const AttemptFile& file) {
    json ranks = json::array();
    for (const RankLaunch& rank : file.ranks) {
        ranks.push_back({{"rank", rank.rank}, {"device", rank.device}});
    }
    return dump({{"epoch", file.epoch.value},
                 {"job", file.job.value},
                 {"ranks", std::move(ranks)},
                 {"num_ranks", file.num_ranks},
                 {"data_address", file.data_address},
                 {"rank_command", file.rank_command},
                 {"orphan", orphan_to_json(file.orphan)},
                 {"ports", to_string(file.ports)}});
}

Result<AttemptFile> parse_attempt_file(std::string_view text) {
    return parse_file<AttemptFile>(
        text, "attempt.json", [](const json& value) -> Result<AttemptFile> {
            AttemptFile file{
                .epoch = {value.at("epoch").get<std::int64_t>()},
                .job = {value.at("job").get<std::string>()},
                .num_ranks = value.at("num_ranks").get<int>(),
                .data_address = value.at("data_address").get<std::string>(),
                .rank_command = value.at("rank_command").get<std::vector<std::string>>()};
            for (const json& rank : value.at("ranks")) {
                file.ranks.push_back({rank.at("rank").get<int>(), rank.at("device").get<int>()});
            }
            const json& orphan = value.at("orphan");
            RM_TRY(file.orphan.mode, parse_word<OrphanMode>(orphan.at("mode").get<std::string>()));
            file.orphan.timeout = Seconds{orphan.at("timeout_seconds").get<double>()};
            file.orphan.grace = Seconds{orphan.at("grace_seconds").get<double>()};
            // Attempts of earlier builds have no range: they listened wherever the kernel chose.
            RM_TRY(file.ports, parse_port_range(value.value("ports", "0")));
            return file;
        });
}

std::string to_json(const ShimFile& file) {
    json ranks = json::array();
    for (const ShimFile::Rank& rank : file.ranks) {
        json entry = process_to_json(rank.process);
        entry["rank"] = rank.rank;
        ranks.push_back(std::move(entry));
    }
    json value = process_to_json(file.shim);
    value["epoch"] = file.epoch.value;
    value["job"] = file.job.value;
    value["boot_id"] = file.boot_id;
    value["ranks"] = std::move(ranks);
    return dump(value);
}

Result<ShimFile> parse_shim_file(std::string_view text) {
    return parse_file<ShimFile>(text, "shim.json", [](const json& value) -> Result<ShimFile> {
        ShimFile file{.epoch = {value.at("epoch").get<std::int64_t>()},
                      .job = {value.at("job").get<std::string>()},
                      .shim = process_from_json(value),
                      .boot_id = value.at("boot_id").get<std::string>()};
        for (const json& rank : value.at("ranks")) {
            file.ranks.push_back({rank.at("rank").get<int>(), process_from_json(rank)});
        }
        return file;
    });
}

std::string to_json(const ExitFile& file) {
    return dump({{"code", file.code},
                 {"signal", file.signal},
                 {"words", file.words},
                 {"mono_nanos", file.mono_nanos}});
}

Result<ExitFile> parse_exit_file(std::string_view text) {
    return parse_file<ExitFile>(text, "exit file", [](const json& value) -> Result<ExitFile> {
        return ExitFile{.code = value.at("code").get<int>(),
                        .signal = value.at("signal").get<int>(),
                        .words = value.at("words").get<std::string>(),
                        .mono_nanos = value.at("mono_nanos").get<std::int64_t>()};
    });
}

// The shim started this process from its only thread, which PR_SET_PDEATHSIG follows. The shim may
// have ended before the call: then the parent has already changed.
Status tie_to_shim(const AttemptDir& dir) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    RM_TRY(const std::string text, read_text_file(dir.shim()));
    RM_TRY(const ShimFile shim, parse_shim_file(text));
    if (::getppid() == shim.shim.pid) return {};
    return make_error(ErrorCode::failed_precondition, "its shim, process {}, is gone",
                      shim.shim.pid);
}

}  // namespace rm
