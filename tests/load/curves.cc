#include "tests/load/curves.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <random>

#include "base/check.h"
#include "base/median.h"
#include "controller/ops/jobs/read_curves.h"
#include "controller/ops/jobs/step_samples.h"
#include "controller/store/telemetry_store.h"
#include "ringmaster/v1/job.pb.h"

namespace rm::load {
namespace {

namespace pb = ringmaster::v1;
using Clock = std::chrono::steady_clock;

const JobId kJob{"abc123"};
constexpr std::int64_t kBatch = 256;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The reports of a model that learns.
class Reports {
public:
    pb::StepReport next(std::int64_t step) {
        pb::StepReport report;
        report.set_step(step);
        report.set_num_steps(2'000'000);
        report.set_tokens(1 << 20);
        report.set_tokens_total(step << 20);
        report.set_loss(2 + 9 / std::sqrt(static_cast<double>(step)) + noise(0.02));
        report.set_grad_norm(0.9 + noise(0.1));
        report.set_finite(true);
        report.set_learning_rate(2e-5);
        report.set_seconds(41.2 + noise(0.4));
        report.set_model_flops(7.1e17);
        const double mfu = 0.46 * 41.2 / report.seconds();
        report.set_causal_mfu(mfu);
        report.set_full_mfu(1.9 * mfu);
        report.set_hfu(1.3 * mfu);
        report.set_peak_name("bf16 362 TFLOP/s");
        for (const char* phase :
             {"attention", "gemm", "ring_exposed", "gather_exposed", "reduce_exposed",
              "offload_exposed", "optimizer", "data", "checkpoint", "idle"})
            (*report.mutable_phase_seconds())[phase] = 3 + noise(0.1);
        for (const char* kind : {"weights", "gradients", "optimizer", "activations", "workspace",
                                 "host weights", "host activations"})
            (*report.mutable_memory_bytes())[kind] = std::int64_t{5} << 30;
        for (const char* axis : {"ring", "gradient", "world"}) {
            (*report.mutable_axes())[axis].set_bytes_sent(std::int64_t{3} << 30);
            (*report.mutable_axes())[axis].set_wait_seconds(0.4 + noise(0.05));
        }
        (*report.mutable_hops())[1].set_bytes_per_second(3e9 + noise(1e8));
        return report;
    }

private:
    double noise(double sigma) { return std::normal_distribution<double>(0, sigma)(random_); }
    std::mt19937 random_{7};
};

TelemetryPiece piece_of(const pb::StepReport& report, int rank) {
    return {.job = kJob,
            .epoch = {1},
            .rank = rank,
            .kind = PieceKind::step,
            .end_offset = report.step(),
            .received = {1'790'000'000'000'000 + report.step() * 41'200'000},
            .step = report.step(),
            .loss = report.loss(),
            .bytes = report.SerializeAsString()};
}

void keep_steps(TelemetryStore& store, const CurveLoad& load) {
    Reports reports;
    for (std::int64_t first = 1; first <= load.steps; first += kBatch) {
        std::vector<TelemetryPiece> pieces;
        for (std::int64_t step = first; step < std::min(first + kBatch, load.steps + 1); ++step) {
            const pb::StepReport report = reports.next(step);
            for (int rank = 0; rank <= load.other_ranks; ++rank)
                pieces.push_back(piece_of(report, rank));
        }
        const Status kept = store.write(pieces);
        RM_CHECK(kept.ok(), "{}", kept.error().message);
        const Status packed = store.pack();
        RM_CHECK(packed.ok(), "{}", packed.error().message);
        const auto tidied = store.tidy(pieces.back().received);
        RM_CHECK(tidied.ok(), "{}", tidied.error().message);
    }
}

Bytes size_of(const std::string& path) {
    std::int64_t bytes = 0;
    for (const char* end : {"", "-wal"}) {
        std::error_code none;
        const auto size = std::filesystem::file_size(path + end, none);
        if (!none) bytes += static_cast<std::int64_t>(size);
    }
    return {bytes};
}

CurveQuestion ask(TelemetryReader& reader, const std::string& what, int repeats,
                  const pb::StepsRequest& request) {
    CurveQuestion question{what};
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) {
        const auto begin = Clock::now();
        const auto reply = read_curves(reader, kJob, request);
        times.push_back(seconds_since(begin));
        RM_CHECK(reply.ok(), "{}", reply.error().message);
        question.points = 0;
        for (const pb::Curve& curve : reply->curves())
            question.points += curve.steps_size();
    }
    question.worst = *std::max_element(times.begin(), times.end());
    question.median = median(times);
    return question;
}

pb::StepsRequest request_for(const std::vector<std::string>& quantities, int max_points) {
    pb::StepsRequest request;
    request.mutable_quantities()->Add(quantities.begin(), quantities.end());
    request.set_max_points(max_points);
    return request;
}

}  // namespace

CurveReport measure_curves(const std::string& state_dir, const CurveLoad& load) {
    std::filesystem::create_directories(state_dir);
    const TelemetryPaths paths{state_dir + "/telemetry.db", state_dir + "/logs"};
    CurveReport report;
    {
        const auto store = TelemetryStore::open(paths, {1 << 20}, step_samples).value();
        const auto begin = Clock::now();
        keep_steps(*store, load);
        report.writing = {seconds_since(begin)};
    }
    report.database = size_of(paths.database);
    const auto reader = TelemetryReader::open(paths, step_samples).value();
    const auto measure = [&](const std::string& what, const pb::StepsRequest& request) {
        report.questions.push_back(ask(*reader, what, load.repeats, request));
    };
    measure("loss, 2,000 points", request_for({"loss"}, 2000));
    pb::StepsRequest window = request_for({"loss"}, 2000);
    window.set_from_step(load.steps / 2);
    window.set_to_step(load.steps / 2 + load.steps / 10);
    measure("loss of a tenth of the steps", window);
    measure("loss and MFU, 2,000 points", request_for({"loss", "causal_mfu"}, 2000));
    measure("loss, a page of every point", request_for({"loss"}, 0));
    measure("names alone", request_for({}, 0));
    if (load.other_ranks > 0) {
        pb::StepsRequest all = request_for({"seconds"}, 200);
        all.set_all_ranks(true);
        measure("seconds of every rank", all);
    }
    return report;
}

}  // namespace rm::load
