#include <algorithm>
#include <cmath>
#include <iostream>
#include <string_view>
#include <vector>

#include "bench/arguments.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "bench/published/pipelined_runs.h"
#include "bench/published/published_runs.h"

namespace rm::bench {
namespace {

constexpr std::string_view kUsage =
    "usage: ring-bench published\n"
    "Predicts steps that others have published and prints the error of each, and the mean. Their\n"
    "runs used other attention kernels than ours, so the prediction takes those kernels' "
    "published\n"
    "speeds: torch's context parallelism calls cuDNN on an H100, and the others show what the\n"
    "choice is worth. Beside them our own profile of the device (ours), and the step that one "
    "MFU,\n"
    "the median of the published ones, would give (constant). That MFU is the only figure that is\n"
    "fitted to these rows.\n"
    "A second table has throughputs on L40S of a system whose schedule is not known, beside those\n"
    "of our plan there. It judges nothing: their MFU says what they reached.\n"
    "A third table has Llama 3 405B, which needs pipeline parallelism: by a formula, no dry run.\n";

// One way to predict all rows, and how far off it was.
struct Predictor {
    std::string name;
    std::vector<double> errors;

    std::string add(double predicted, double published) {
        errors.push_back(predicted / published - 1);
        return format("{:7.0} s {:6.1} %", predicted, 100 * errors.back());
    }
    std::string summary() const {
        double sum = 0, worst = 0;
        for (const double error : errors) {
            sum += std::abs(error);
            worst = std::max(worst, std::abs(error));
        }
        const double mean = sum / static_cast<double>(errors.size());
        return format("{:<24} {:6.1} % {:6.1} %\n", name, 100 * mean, 100 * worst);
    }
};

struct Row {
    PublishedRun run;
    double flops = 0;               // of a step, causal
    double peak = 0;                // of all devices
    std::vector<double> predicted;  // seconds: by kAttentionKernels, then ours
    double mfu() const { return flops / (run.seconds * peak); }
};

// By kAttentionKernels, then with its own.
std::vector<DeviceProfile> with_all_kernels(const DeviceProfile& profile) {
    std::vector<DeviceProfile> all;
    for (const AttentionKernels& kernels : kAttentionKernels)
        all.push_back(with_attention(profile, kernels));
    all.push_back(profile);
    return all;
}

Result<Row> row_of(const PublishedRun& run) {
    const std::vector<DeviceProfile> profiles = published_profiles();
    const auto ours = std::ranges::find(profiles, run.profile, &DeviceProfile::name);
    RM_CHECK(ours != profiles.end(), "no profile {}", run.profile);
    Row row{.run = run, .peak = ours->peak_flops * run.devices};
    for (const DeviceProfile& profile : with_all_kernels(*ours)) {
        RM_TRY(const Prediction prediction, foretell(run, profile));
        row.flops = prediction.model_flops;
        row.predicted.push_back(prediction.step.value);
    }
    return row;
}

Result<std::vector<Row>> all_rows() {
    std::vector<Row> rows;
    for (const PublishedRun& published : published_runs()) {
        RM_TRY(Row row, row_of(published));
        rows.push_back(std::move(row));
    }
    return rows;
}

double median_mfu(const std::vector<Row>& rows) {
    std::vector<double> mfus;
    for (const Row& row : rows)
        mfus.push_back(row.mfu());
    return median(mfus);
}

Status print_gradient(double mfu) {
    const std::vector<DeviceProfile> profiles = published_profiles();
    const DeviceProfile& l40s = profiles.front();
    std::cout << "\ntokens  devices    published tok/s and device   MFU    our mesh                "
                 "predicted      MFU     error  constant     error\n";
    for (const PublishedThroughput& stage : gradient_stages()) {
        RM_TRY(const Prediction ours, foretell(stage, l40s));
        const double per_token = ours.model_flops / ours.tokens;
        const double predicted = ours.tokens_per_sec / stage.devices;
        const double constant = mfu * l40s.peak_flops / per_token;
        std::cout << format(
            "{:>4}Ki  {:>4} L40S {:25.1}  {:5.1} %   {:<20} {:12.1}  {:5.1} %  "
            "{:6.1} %  {:8.1}  {:6.1} %\n",
            stage.context >> 10, stage.devices, stage.tokens_per_sec,
            100 * per_token * stage.tokens_per_sec / l40s.peak_flops, to_string(stage.mesh),
            predicted, 100 * ours.causal_mfu, 100 * (predicted / stage.tokens_per_sec - 1),
            constant, 100 * (constant / stage.tokens_per_sec - 1));
    }
    return {};
}

std::string rate_text(double flops_per_sec, double published) {
    return format("  {:6.0} {:6.1} %", flops_per_sec / 1e12, 100 * (flops_per_sec / published - 1));
}

void print_rates(double mfu, const DeviceProfile& h100) {
    std::cout
        << "\nLlama 3 405B on H100, TFLOP/s of a device by a formula (no dry run): tensor 8 x "
           "pipeline 16\n"
           "tokens devices context data  published           cuDNN  FlashAttention-3  "
           "FlashAttention-2            ours        constant\n";
    for (const PipelinedRun& run : llama3_runs()) {
        std::cout << format("{:>4}Ki  {:>6}  {:>6} {:>4}  {:9.0}", run.context >> 10, run.devices,
                            run.context_ranks, run.data, run.published / 1e12);
        for (const DeviceProfile& profile : with_all_kernels(h100))
            std::cout << rate_text(pipelined_step(run, profile).flops_per_sec, run.published);
        std::cout << rate_text(mfu * h100.peak_flops, run.published) << "\n";
    }
}

// Shares of a step with the first kernels, in percent.
void print_shares(const DeviceProfile& h100) {
    std::cout << "\ntokens devices     step  products  attention  elementwise  tensor  context  "
                 "bubble\n";
    for (const PipelinedRun& run : llama3_runs()) {
        const PipelinedStep step = pipelined_step(run, with_all_kernels(h100).front());
        const LayerSeconds& layer = step.layer;
        const auto share = [&](double seconds) {
            return 100 * seconds / (layer.all() * (1 + step.bubble));
        };
        std::cout << format(
            "{:>4}Ki  {:>6}  {:5.2} s  {:6.1} %   {:6.1} %     {:6.1} % {:5.1} %  "
            "{:5.1} % {:5.1} %\n",
            run.context >> 10, run.devices, step.seconds, share(layer.products),
            share(layer.attention), share(layer.elementwise), share(layer.tensor),
            share(layer.context), share(step.bubble * layer.all()));
    }
}

void print_pipelined(double mfu) {
    const std::vector<DeviceProfile> profiles = published_profiles();
    const DeviceProfile& h100 = *std::ranges::find(profiles, "H100", &DeviceProfile::name);
    print_rates(mfu, h100);
    print_shares(h100);
}

Result<int> run() {
    RM_TRY(const std::vector<Row> rows, all_rows());
    const double mfu = median_mfu(rows);
    std::vector<Predictor> predictors;
    for (const AttentionKernels& kernels : kAttentionKernels)
        predictors.push_back({std::string(kernels.name), {}});
    predictors.push_back({"ours", {}});
    predictors.push_back({format("constant MFU of {:.1} %", 100 * mfu), {}});
    std::cout << "model       tokens  devices   published          cuDNN    FlashAttention-3    "
                 "FlashAttention-2                ours            constant\n";
    for (const Row& row : rows) {
        std::vector<double> predicted = row.predicted;
        predicted.push_back(row.flops / (mfu * row.peak));
        std::cout << format("{:<10} {:>4}Mi  {:>2} {:<5} {:6.0} s", row.run.name,
                            row.run.context >> 20, row.run.devices, row.run.profile,
                            row.run.seconds);
        for (std::size_t i = 0; i < predicted.size(); ++i)
            std::cout << "  " << predictors[i].add(predicted[i], row.run.seconds);
        std::cout << "\n";
    }
    std::cout << "\nerror                      mean    worst\n";
    for (const Predictor& predictor : predictors)
        std::cout << predictor.summary();
    RM_RETURN_IF_ERROR(print_gradient(mfu));
    print_pipelined(mfu);
    return 0;
}

}  // namespace

int run_published(std::span<char*> words) {
    const Command command{.program = "ring-bench published", .usage = kUsage, .flags = {}};
    return run_command(words, command, run);
}

}  // namespace rm::bench
