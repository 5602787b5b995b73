#include "controller/ops/jobs/read_curves.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/text.h"
#include "controller/curves/largest_triangle.h"
#include "controller/ops/jobs/step_samples.h"

namespace rm {
namespace {

// Points of a reply, all curves together: each takes up to 21 bytes of at most 4 MiB.
constexpr std::int64_t kMostPoints = 150'000;
constexpr std::int64_t kFewestSteps = 16;  // of a page

Status check_quantities(const pb::StepsRequest& request, const pb::StepsReply& known) {
    for (const std::string& name : request.quantities()) {
        const auto& names = known.quantities();
        if (std::find(names.begin(), names.end(), name) != names.end()) continue;
        const std::string all = join(names, ", ");
        return invalid_argument("there is no quantity '{}' of job {}; there are {}", name,
                                request.job_id(), all.empty() ? "none yet" : all);
    }
    return {};
}

std::vector<int> ranks_of(const pb::StepsRequest& request, const pb::StepsReply& known) {
    const auto& ranks = request.all_ranks() ? known.ranks() : request.ranks();
    if (ranks.empty()) return {0};
    return {ranks.begin(), ranks.end()};
}

Result<std::int64_t> first_step(const pb::StepsRequest& request) {
    if (request.page_token().empty()) return std::max<std::int64_t>(request.from_step(), 1);
    const auto step = parse_number<std::int64_t>(request.page_token());
    if (step && *step > 0) return *step;
    return invalid_argument("page token '{}' is not one of this server's", request.page_token());
}

// The steps of a rank's curves, ascending, and when they ended: their times are read at once.
struct TimedSteps {
    std::vector<std::int64_t> steps;
    std::vector<WallTime> times;

    void add(const std::vector<std::int64_t>& more) {
        std::vector<std::int64_t> all;
        std::set_union(steps.begin(), steps.end(), more.begin(), more.end(),
                       std::back_inserter(all));
        steps = std::move(all);
    }
    WallTime at(std::int64_t step) const {
        const auto place = std::lower_bound(steps.begin(), steps.end(), step);
        return times[static_cast<std::size_t>(place - steps.begin())];
    }
};

pb::Curve message_of(const Curve& curve, const TimedSteps& timed) {
    pb::Curve message;
    message.set_quantity(curve.quantity);
    message.set_unit(std::string(unit_of(curve.quantity)));
    message.set_rank(curve.rank);
    message.mutable_steps()->Add(curve.line.steps.begin(), curve.line.steps.end());
    message.mutable_values()->Add(curve.line.values.begin(), curve.line.values.end());
    for (const std::int64_t step : curve.line.steps)
        message.add_times(static_cast<double>(timed.at(step).micros) * 1e-6);
    return message;
}

// Reads the curves of a request, those of a rank together.
class StepsReader {
public:
    StepsReader(CurveReader& reader, const JobId& job, const pb::StepsRequest& request)
        : reader_(reader), job_(job), request_(request) {}

    Result<pb::StepsReply> read() {
        RM_RETURN_IF_ERROR(read_names());
        RM_RETURN_IF_ERROR(check_quantities(request_, reply_));
        const std::vector<int> ranks = ranks_of(request_, reply_);
        const std::int64_t curves = std::ssize(ranks) * request_.quantities_size();
        if (curves == 0) return std::move(reply_);
        share_ = std::max(kFewestSteps, kMostPoints / curves);
        RM_TRY(query_.from_step, first_step(request_));
        if (request_.to_step() > 0) query_.to_step = request_.to_step();
        if (request_.max_points() > 0) {
            const std::int64_t most = std::min<std::int64_t>(request_.max_points(), share_);
            query_.max_points = static_cast<int>(std::max<std::int64_t>(most, 3));
        }
        if (query_.max_points == 0) RM_RETURN_IF_ERROR(begin_page());
        for (const int rank : ranks) {
            query_.rank = rank;
            RM_RETURN_IF_ERROR(read_rank());
        }
        return finished();
    }

private:
    Status read_names() {
        query_.job = job_;
        query_.quantities = {request_.quantities().begin(), request_.quantities().end()};
        RM_TRY(const auto names, reader_.quantities(job_, 0));
        RM_TRY(const auto ranks, reader_.ranks(job_));
        reply_.mutable_quantities()->Add(names.begin(), names.end());
        reply_.mutable_ranks()->Add(ranks.begin(), ranks.end());
        return {};
    }
    Status read_rank() {
        RM_TRY(std::vector<Curve> found, reader_.read(query_));
        for (Curve& curve : found) {
            if (curve.line.size() == 0) continue;
            if (query_.max_points > 0)
                curve.line = thinned(std::move(curve.line), usize(query_.max_points));
            curves_.push_back(std::move(curve));
        }
        return {};
    }
    // Without max_points a page is of so many steps; the next one begins behind them.
    Status begin_page() {
        const std::int64_t end = query_.from_step + share_;
        RM_TRY(const std::int64_t last, reader_.last_step(job_));
        if (end > std::min(last, query_.to_step.value_or(last))) return {};
        query_.to_step = end - 1;
        reply_.set_next_page_token(std::to_string(end));
        return {};
    }
    Result<pb::StepsReply> finished() {
        const auto place = [&](const Curve& curve) {
            const auto& names = query_.quantities;
            return std::find(names.begin(), names.end(), curve.quantity) - names.begin();
        };
        std::stable_sort(curves_.begin(), curves_.end(),
                         [&](const Curve& a, const Curve& b) { return place(a) < place(b); });
        std::map<int, TimedSteps> ranks;
        for (const Curve& curve : curves_)
            ranks[curve.rank].add(curve.line.steps);
        for (auto& [rank, timed] : ranks) {
            RM_TRY(timed.times, reader_.times(job_, rank, timed.steps));
        }
        for (const Curve& curve : curves_)
            *reply_.add_curves() = message_of(curve, ranks.at(curve.rank));
        return std::move(reply_);
    }

    CurveReader& reader_;
    const JobId job_;
    const pb::StepsRequest& request_;
    CurveQuery query_;
    std::int64_t share_ = 0;  // points of each curve, at most
    std::vector<Curve> curves_;
    pb::StepsReply reply_;
};

}  // namespace

Result<pb::StepsReply> read_curves(TelemetryReader& telemetry, const JobId& job,
                                   const pb::StepsRequest& request) {
    return telemetry.curves(
        [&](CurveReader& reader) { return StepsReader(reader, job, request).read(); });
}

}  // namespace rm
