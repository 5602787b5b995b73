#include "controller/ops/jobs/step_samples.h"

#include <array>

#include "controller/store/curve_store.h"
#include "ringmaster/v1/job.pb.h"
#include "spec/report.h"

namespace rm {
namespace {

namespace pb = ringmaster::v1;

struct Unit {
    std::string_view prefix;  // of quantities
    std::string_view unit;
};
constexpr std::array kUnits = {
    Unit{"loss", "nats"},         Unit{kHeldOutLoss, "nats"},
    Unit{"seconds", "seconds"},   Unit{"waited", "seconds"},
    Unit{"phase/", "seconds"},    Unit{"axis_wait/", "seconds"},
    Unit{"memory/", "bytes"},     Unit{"device_memory", "bytes"},
    Unit{"axis_bytes/", "bytes"}, Unit{"tokens_per_second", "tokens/s"},
};

double device_memory(const pb::StepReport& report) {
    double bytes = 0;
    for (const auto& [name, held] : report.memory_bytes())
        bytes += memory_name(name).on_host ? 0 : static_cast<double>(held);
    return bytes;
}

double waited(const pb::StepReport& report) {
    double seconds = 0;
    for (const auto& [name, spent] : report.phase_seconds())
        seconds += step_phase(name).exposed ? spent : 0;
    return seconds;
}

void add_job_samples(const pb::StepReport& report, std::vector<CurveSample>& samples) {
    samples.push_back({"loss", report.loss()});
    samples.push_back({"grad_norm", report.grad_norm()});
    samples.push_back({"learning_rate", report.learning_rate()});
    if (report.seconds() > 0) {
        samples.push_back(
            {"tokens_per_second", static_cast<double>(report.tokens()) / report.seconds()});
    }
    if (report.causal_mfu() > 0) {
        samples.push_back({"causal_mfu", report.causal_mfu()});
        samples.push_back({"full_mfu", report.full_mfu()});
        samples.push_back({"hfu", report.hfu()});
    }
    for (const auto& [name, spent] : report.phase_seconds())
        samples.push_back({"phase/" + name, spent});
    for (const auto& [name, held] : report.memory_bytes())
        samples.push_back({"memory/" + name, static_cast<double>(held)});
    for (const auto& [name, axis] : report.axes()) {
        samples.push_back({"axis_bytes/" + name, static_cast<double>(axis.bytes_sent())});
        samples.push_back({"axis_wait/" + name, axis.wait_seconds()});
    }
    for (const auto& [name, tensor] : report.fp8()) {
        samples.push_back({"fp8_flushed/" + name, tensor.flushed()});
        samples.push_back({"fp8_saturated/" + name, tensor.saturated()});
        samples.push_back({"fp8_error/" + name, tensor.error()});
    }
    if (report.fp8_size() > 0) {
        samples.push_back(
            {"fp8_fallback_layers", static_cast<double>(report.fp8_fallback_layers())});
    }
}

}  // namespace

std::optional<StepSamples> step_samples(std::string_view bytes, int rank) {
    pb::StepReport report;
    if (!report.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
    StepSamples found{report.step(),
                      {{"seconds", report.seconds()},
                       {"waited", waited(report)},
                       {"device_memory", device_memory(report)}}};
    if (rank == 0) add_job_samples(report, found.samples);
    return found;
}

std::string_view unit_of(std::string_view quantity) {
    for (const auto& [prefix, unit] : kUnits) {
        const bool is_family = prefix.ends_with('/');
        if (is_family ? quantity.starts_with(prefix) : quantity == prefix) return unit;
    }
    return "";
}

}  // namespace rm
