#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "controller/store/curve_store.h"

namespace rm {
namespace {

constexpr std::int64_t kLastStep = std::numeric_limits<std::int64_t>::max();

// The part of a line between the query's steps.
CurveLine cut(CurveLine line, const CurveQuery& query) {
    auto& [steps, values] = line;
    const auto end =
        std::upper_bound(steps.begin(), steps.end(), query.to_step.value_or(kLastStep));
    values.erase(values.begin() + (end - steps.begin()), values.end());
    steps.erase(end, steps.end());
    const auto begin = std::lower_bound(steps.begin(), steps.end(), query.from_step);
    values.erase(values.begin(), values.begin() + (begin - steps.begin()));
    steps.erase(steps.begin(), begin);
    return line;
}

// The time of a step, whose place among those kept is `i`.
WallTime time_at(const CurveLine& times, std::size_t i, std::int64_t step) {
    const auto micros = [&](std::size_t k) { return static_cast<std::int64_t>(times.values[k]); };
    if (i == times.size()) return {};
    if (times.steps[i] == step) return {micros(i)};
    if (i == 0) return {};
    const double share = static_cast<double>(step - times.steps[i - 1]) /
                         static_cast<double>(times.steps[i] - times.steps[i - 1]);
    const auto between = static_cast<double>(micros(i) - micros(i - 1)) * share;
    return {micros(i - 1) + static_cast<std::int64_t>(between)};
}

}  // namespace

Result<CurveReader> CurveReader::open(Database& database, StepSampler sampler) {
    RM_TRY(Statement chunks,
           database.prepare("SELECT epoch, data FROM curves WHERE job = ? AND rank = ? AND "
                            "quantity = ? AND last_step >= ? AND first_step <= ? "
                            "ORDER BY epoch, first_step"));
    RM_TRY(Statement whole, database.prepare("SELECT epoch, received, report FROM steps WHERE "
                                             "job = ? AND rank = ? ORDER BY id"));
    RM_TRY(Statement evaluations,
           database.prepare("SELECT epoch, step, loss FROM evaluations WHERE job = ? AND "
                            "rank = 0 ORDER BY id"));
    RM_TRY(Statement quantities,
           database.prepare("SELECT DISTINCT quantity FROM curves WHERE job = ? AND rank = ?"));
    RM_TRY(Statement newest, database.prepare("SELECT report FROM steps WHERE job = ? AND "
                                              "rank = ? ORDER BY id DESC LIMIT 1"));
    RM_TRY(Statement packed_ranks, database.prepare("SELECT rank FROM curve_ranks WHERE job = ?"));
    RM_TRY(Statement whole_ranks,
           database.prepare("SELECT DISTINCT rank FROM steps WHERE job = ?"));
    Statements statements{std::move(chunks),     std::move(whole),  std::move(evaluations),
                          std::move(quantities), std::move(newest), std::move(packed_ranks),
                          std::move(whole_ranks)};
    return CurveReader(std::move(statements), std::move(sampler));
}

Status CurveReader::read_chunks(const CurveQuery& query, const std::string& quantity,
                                ByEpoch& parts) {
    // A later attempt's first steps end an earlier one's, so all of them are read from there on.
    sql_.chunks.bind_all(query.job, query.rank, quantity, query.from_step, kLastStep);
    while (true) {
        RM_TRY(const bool more, sql_.chunks.step());
        if (!more) return {};
        RM_RETURN_IF_ERROR(decode_chunk(sql_.chunks.text(1), parts[sql_.chunks.whole(0)]));
    }
}

Status CurveReader::read_whole(const CurveQuery& query, std::map<std::string, ByEpoch>& lines) {
    if (!sampler_) return {};
    sql_.whole.bind_all(query.job, query.rank);
    while (true) {
        RM_TRY(const bool more, sql_.whole.step());
        if (!more) return {};
        const auto report = sampler_(sql_.whole.text(2), query.rank);
        if (!report) continue;
        const std::int64_t epoch = sql_.whole.whole(0);
        lines.at(std::string(kStepTimes))[epoch].add(report->step, sql_.whole.number(1));
        for (const auto& [quantity, value] : report->samples) {
            if (const auto line = lines.find(quantity); line != lines.end())
                line->second[epoch].add(report->step, value);
        }
    }
}

Status CurveReader::read_evaluations(const CurveQuery& query,
                                     std::map<std::string, ByEpoch>& lines) {
    const auto line = lines.find(std::string(kHeldOutLoss));
    if (line == lines.end() || query.rank != 0) return {};
    sql_.evaluations.bind_all(query.job);
    while (true) {
        RM_TRY(const bool more, sql_.evaluations.step());
        if (!more) return {};
        const std::int64_t epoch = sql_.evaluations.whole(0);
        line->second[epoch].add(sql_.evaluations.whole(1), sql_.evaluations.number(2));
    }
}

Result<RankCurves> CurveReader::read(const CurveQuery& query) {
    std::map<std::string, ByEpoch> lines{{std::string(kStepTimes), {}}};
    for (const std::string& quantity : query.quantities)
        lines[quantity];
    for (auto& [quantity, parts] : lines)
        RM_RETURN_IF_ERROR(read_chunks(query, quantity, parts));
    RM_RETURN_IF_ERROR(read_whole(query, lines));
    RM_RETURN_IF_ERROR(read_evaluations(query, lines));
    RankCurves found;
    found.times = joined(std::move(lines.at(std::string(kStepTimes))));
    for (const std::string& quantity : query.quantities) {
        CurveLine line = joined(std::exchange(lines.at(quantity), {}));
        found.curves.push_back({quantity, query.rank, cut(std::move(line), query)});
    }
    return found;
}

std::vector<WallTime> times_of(const std::vector<std::int64_t>& steps, const CurveLine& times) {
    std::vector<WallTime> found;
    found.reserve(steps.size());
    auto at = times.steps.begin();
    for (const std::int64_t step : steps) {
        at = std::lower_bound(at, times.steps.end(), step);
        found.push_back(time_at(times, static_cast<std::size_t>(at - times.steps.begin()), step));
    }
    return found;
}

Result<std::vector<std::string>> CurveReader::quantities(const JobId& job, int rank) {
    std::set<std::string> names;
    sql_.quantities.bind_all(job, rank);
    while (true) {
        RM_TRY(const bool more, sql_.quantities.step());
        if (!more) break;
        names.insert(sql_.quantities.text(0));
    }
    RM_TRY(const bool has_whole, sql_.newest.bind_all(job, rank).step());
    const auto report = has_whole && sampler_ ? sampler_(sql_.newest.text(0), rank) : std::nullopt;
    if (report) {
        for (const CurveSample& sample : report->samples)
            names.insert(sample.quantity);
    }
    sql_.newest.reset();
    names.erase(std::string(kStepTimes));
    RM_TRY(const bool evaluated, sql_.evaluations.bind_all(job).step());
    if (evaluated && rank == 0) names.insert(std::string(kHeldOutLoss));
    sql_.evaluations.reset();
    return std::vector<std::string>(names.begin(), names.end());
}

Result<std::vector<int>> CurveReader::ranks(const JobId& job) {
    std::set<int> found;
    for (Statement* select : {&sql_.packed_ranks, &sql_.whole_ranks}) {
        select->bind_all(job);
        while (true) {
            RM_TRY(const bool more, select->step());
            if (!more) break;
            found.insert(static_cast<int>(select->whole(0)));
        }
    }
    return std::vector<int>(found.begin(), found.end());
}

}  // namespace rm
