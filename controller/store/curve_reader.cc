#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "controller/curves/extremes.h"
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

// Sets the times of those steps that lie within a part of the kept times: of a thinned one, between
// its neighbours'.
void set_times(const CurveLine& kept, const std::vector<std::int64_t>& steps,
               std::vector<WallTime>& times) {
    if (kept.size() == 0) return;
    const auto first = std::lower_bound(steps.begin(), steps.end(), kept.steps.front());
    const auto last = std::upper_bound(first, steps.end(), kept.steps.back());
    auto at = kept.steps.begin();
    for (auto step = first; step != last; ++step) {
        at = std::lower_bound(at, kept.steps.end(), *step);
        const auto i = static_cast<std::size_t>(at - kept.steps.begin());
        double micros = kept.values[i];
        if (*at != *step) {
            const double share = static_cast<double>(*step - kept.steps[i - 1]) /
                                 static_cast<double>(*at - kept.steps[i - 1]);
            micros = kept.values[i - 1] + share * (kept.values[i] - kept.values[i - 1]);
        }
        times[static_cast<std::size_t>(step - steps.begin())] = {static_cast<std::int64_t>(micros)};
    }
}

}  // namespace

Result<CurveReader> CurveReader::open(Database& database, StepSampler sampler) {
    RM_TRY(Statement chunks,
           database.prepare("SELECT epoch, data FROM curves WHERE job = ? AND rank = ? AND "
                            "quantity = ? AND last_step >= ? AND first_step <= ? "
                            "ORDER BY epoch, first_step"));
    RM_TRY(Statement whole,
           database.prepare("SELECT epoch, received, report FROM steps WHERE "
                            "job = ? AND rank = ? AND step >= ? AND step <= ? ORDER BY id"));
    RM_TRY(Statement span, database.prepare("SELECT MIN(first_step), MAX(first_step) FROM curves "
                                            "WHERE job = ? AND rank = ? AND quantity = ?"));
    RM_TRY(Statement received, database.prepare("SELECT step, received FROM steps WHERE job = ? "
                                                "AND rank = ? ORDER BY id"));
    RM_TRY(Statement evaluations,
           database.prepare("SELECT epoch, step, loss FROM evaluations WHERE job = ? AND "
                            "rank = 0 ORDER BY id"));
    RM_TRY(Statement quantities,
           database.prepare("SELECT DISTINCT quantity FROM curves WHERE job = ? AND rank = ?"));
    RM_TRY(Statement newest, database.prepare("SELECT report FROM steps WHERE job = ? AND "
                                              "rank = ? ORDER BY id DESC LIMIT 1"));
    RM_TRY(Statement last_whole,
           database.prepare("SELECT MAX(step) FROM steps WHERE job = ? AND rank = 0"));
    RM_TRY(Statement last_packed, database.prepare("SELECT MAX(last_step) FROM curves WHERE "
                                                   "job = ? AND rank = 0 AND quantity = ?"));
    RM_TRY(Statement packed_ranks, database.prepare("SELECT rank FROM curve_ranks WHERE job = ?"));
    RM_TRY(Statement whole_ranks,
           database.prepare("SELECT DISTINCT rank FROM steps WHERE job = ?"));
    Statements statements{std::move(chunks),       std::move(span),        std::move(whole),
                          std::move(received),     std::move(evaluations), std::move(quantities),
                          std::move(newest),       std::move(last_whole),  std::move(last_packed),
                          std::move(packed_ranks), std::move(whole_ranks)};
    return CurveReader(std::move(statements), std::move(sampler));
}

// How many points next to each other become two.
Result<std::size_t> CurveReader::group_size(const CurveQuery& query, const std::string& quantity) {
    constexpr std::int64_t kPerPoint = 4;  // groups
    if (query.max_points <= 0) return std::size_t{1};
    RM_RETURN_IF_ERROR(sql_.span.bind_all(query.job, query.rank, quantity).step());
    const std::int64_t begin = std::max(query.from_step, sql_.span.whole(0));
    const std::int64_t end = std::min(query.to_step.value_or(kLastStep), sql_.span.whole(1));
    sql_.span.reset();
    const std::int64_t size = (end - begin) / (kPerPoint * query.max_points);
    return static_cast<std::size_t>(std::max<std::int64_t>(size, 1));
}

Status CurveReader::read_chunks(const CurveQuery& query, const std::string& quantity,
                                ByEpoch& parts) {
    RM_TRY(const std::size_t group, group_size(query, quantity));
    // Where a later attempt has steps in the range, one of these chunks is its own.
    sql_.chunks.bind_all(query.job, query.rank, quantity, query.from_step,
                         query.to_step.value_or(kLastStep));
    for (CurveLine part;;) {
        RM_TRY(const bool more, sql_.chunks.step());
        if (!more) return {};
        part.steps.clear();
        part.values.clear();
        RM_RETURN_IF_ERROR(decode_chunk(sql_.chunks.text(1), part));
        append_extremes(part, group, parts[sql_.chunks.whole(0)]);
    }
}

Status CurveReader::read_whole(const CurveQuery& query, std::map<std::string, ByEpoch>& lines) {
    if (!sampler_) return {};
    sql_.whole.bind_all(query.job, query.rank, query.from_step, query.to_step.value_or(kLastStep));
    while (true) {
        RM_TRY(const bool more, sql_.whole.step());
        if (!more) return {};
        const auto report = sampler_(sql_.whole.text(2), query.rank);
        if (!report) continue;
        const std::int64_t epoch = sql_.whole.whole(0);
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

Result<std::vector<Curve>> CurveReader::read(const CurveQuery& query) {
    std::map<std::string, ByEpoch> lines;
    for (const std::string& quantity : query.quantities)
        lines[quantity];
    for (auto& [quantity, parts] : lines)
        RM_RETURN_IF_ERROR(read_chunks(query, quantity, parts));
    RM_RETURN_IF_ERROR(read_whole(query, lines));
    RM_RETURN_IF_ERROR(read_evaluations(query, lines));
    std::vector<Curve> curves;
    for (const std::string& quantity : query.quantities) {
        CurveLine line = joined(std::exchange(lines.at(quantity), {}));
        curves.push_back({quantity, query.rank, cut(std::move(line), query)});
    }
    return curves;
}

Result<std::vector<WallTime>> CurveReader::times(const JobId& job, int rank,
                                                 const std::vector<std::int64_t>& steps) {
    std::vector<WallTime> found(steps.size());
    if (steps.empty()) return found;
    // Later attempts come later and overwrite.
    sql_.chunks.bind_all(job, rank, std::string(kStepTimes), steps.front(), steps.back());
    CurveLine part;
    while (true) {
        RM_TRY(const bool more, sql_.chunks.step());
        if (!more) break;
        part = {};
        RM_RETURN_IF_ERROR(decode_chunk(sql_.chunks.text(1), part));
        set_times(part, steps, found);
    }
    sql_.received.bind_all(job, rank);
    while (true) {
        RM_TRY(const bool more, sql_.received.step());
        if (!more) return found;
        const auto at = std::lower_bound(steps.begin(), steps.end(), sql_.received.whole(0));
        if (at == steps.end() || *at != sql_.received.whole(0)) continue;
        found[static_cast<std::size_t>(at - steps.begin())] = {sql_.received.whole(1)};
    }
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

Result<std::int64_t> CurveReader::last_step(const JobId& job) {
    sql_.last_whole.bind_all(job);
    sql_.last_packed.bind_all(job, std::string(kStepTimes));
    std::int64_t last = 0;
    for (Statement* select : {&sql_.last_whole, &sql_.last_packed}) {
        RM_RETURN_IF_ERROR(select->step());
        last = std::max(last, select->whole(0));
        select->reset();
    }
    return last;
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
