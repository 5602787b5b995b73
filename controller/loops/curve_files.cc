#include "controller/loops/curve_files.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

namespace rm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHost = "ringmaster";  // in the names of event files
constexpr int kBatch = 256;

// Whether other tools show it; export-curves writes every quantity.
bool is_shown(std::string_view quantity) {
    constexpr std::string_view kHidden[] = {"axis_bytes/", "axis_wait/", "memory/"};
    for (const std::string_view hidden : kHidden) {
        if (quantity.starts_with(hidden)) return false;
    }
    return true;
}

CurveRow row_of(const KeptReport& kept, const StepSamples& report) {
    CurveRow row{kept.epoch.value, report.step, kept.received, {}};
    for (const auto& [quantity, value] : report.samples) {
        if (is_shown(quantity)) row.values.emplace_back(quantity, value);
    }
    return row;
}

}  // namespace

Result<CurveFiles::OpenRun*> CurveFiles::open(const JobId& job) {
    if (const auto known = runs_.find(job); known != runs_.end()) return &known->second;
    RM_TRY(RunFiles files, RunFiles::open(directory_ + "/" + job.value, kHost));
    const auto last = files.last();
    KeptUpTo position;
    if (last) {
        RM_TRY(position, store_.kept_up_to(job, {last->attempt}, last->step));
    }
    return &runs_.emplace(job, OpenRun{std::move(files), position}).first->second;
}

Status CurveFiles::catch_up(const JobId& job) {
    RM_TRY(OpenRun * run, open(job));
    for (std::vector<CurveRow> rows;;) {
        RM_TRY(rows, next_rows(job, run->position));
        if (rows.empty()) return {};
        // After an error the place in the files is read anew.
        if (const Status written = run->files.add(rows); !written) {
            runs_.erase(job);
            return written;
        }
    }
}

void CurveFiles::remove_old(WallTime now) {
    std::error_code failure;
    for (const auto& run : fs::directory_iterator(directory_, failure)) {
        const auto written = fs::last_write_time(run.path() / "metrics.jsonl", failure);
        if (failure) continue;
        const auto since = fs::file_time_type::clock::to_sys(written).time_since_epoch();
        const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(since).count();
        if (now - WallTime{micros} < kOld) continue;
        runs_.erase({run.path().filename().string()});
        fs::remove_all(run.path(), failure);
    }
}

Result<std::vector<CurveRow>> CurveFiles::next_rows(const JobId& job, KeptUpTo& position) {
    std::vector<CurveRow> rows;
    RM_TRY(const auto steps, store_.steps_after(job, position, kBatch));
    for (const KeptReport& kept : steps) {
        position.step_id = kept.id;
        if (const auto sampled = sampler_(kept.bytes, 0)) rows.push_back(row_of(kept, *sampled));
    }
    RM_TRY(const auto evaluations, store_.evaluations_after(job, position, kBatch));
    for (const auto& [id, epoch, received, step, loss] : evaluations) {
        position.evaluation_id = id;
        rows.push_back({epoch.value, step, received, {{std::string(kHeldOutLoss), loss}}});
    }
    std::stable_sort(rows.begin(), rows.end(), [](const CurveRow& a, const CurveRow& b) {
        return std::pair(a.attempt, a.step) < std::pair(b.attempt, b.step);
    });
    return rows;
}

}  // namespace rm
