#include "controller/loops/curve_files.h"

#include <algorithm>
#include <utility>

namespace rm {
namespace {

constexpr const char* kHost = "ringmaster";  // in the names of event files
constexpr int kBatch = 256;
constexpr std::size_t kMostOpen = 64;  // runs whose place is remembered

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
    if (runs_.size() >= kMostOpen) runs_.clear();
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
