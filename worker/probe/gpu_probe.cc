#include "worker/probe/gpu_probe.h"

#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/clock.h"
#include "base/text.h"
#include "kernels/device_copy.h"
#include "kernels/kernels.h"
#include "kernels/meta/transfer_rates.h"
#include "worker/dir/child.h"
#include "worker/dir/files.h"

namespace rm {
namespace {

constexpr Bytes kSmall{64};
constexpr double kGbit = 8e-9;  // of a byte

// The GPUs that this process sees alone, in their order.
void show(const std::vector<ProbedGpu>& gpus) {
    const bool is_emulated = gpus.empty() || gpus.front().uuid.empty();
    const std::string uuids = join(gpus, ",", [](const ProbedGpu& gpu) { return gpu.uuid; });
    if (!is_emulated) ::setenv("CUDA_VISIBLE_DEVICES", uuids.c_str(), 1);
}

// A device with a large tensor, and memory of the host.
struct Reached {
    Reached(std::unique_ptr<Kernels> kernels_, Bytes size)
        : kernels(std::move(kernels_)),
          memory(device(), MemoryKind::communication, DType::f32, {size.value / 4}),
          host(device(), size),
          stream(device().make_stream("probe")) {}
    Device& device() const { return kernels->device(); }
    TensorView part(Bytes size) const { return memory.view().rows(0, size.value / 4); }

    std::unique_ptr<Kernels> kernels;
    Tensor memory;
    PinnedBuffer host;
    std::unique_ptr<Stream> stream;
};

struct Copies {
    double count = 0;
    Seconds seconds;
};

template <typename Queue>
Copies copy_for(Seconds span, Stream& stream, Bytes size, const Queue& queue) {
    const SystemClock clock;
    const MonoTime start = clock.mono();
    Copies copies;
    do {
        queue(size);
        stream.synchronize();
        ++copies.count;
        copies.seconds = clock.mono() - start;
    } while (copies.seconds < span);
    return copies;
}

class Probing {
public:
    static Result<Probing> start(const GpuProbeRequest& request) {
        RM_TRY(DeviceCopy* const copy, load_device_copy(request.library));
        Probing probing(request, copy);
        for (std::size_t i = 0; i < request.gpus.size(); ++i) {
            const bool is_emulated = request.library == DeviceLibrary::emu;
            const int device = is_emulated ? request.gpus[i].index : static_cast<int>(i);
            RM_TRY(auto kernels, load_device_kernels(request.library, {.device = device}));
            probing.gpus_.emplace_back(std::move(kernels), request.size);
        }
        return probing;
    }

    InsideFindings measure() {
        InsideFindings findings;
        for (std::size_t i = 0; i < gpus_.size(); ++i) {
            findings.samples.push_back(up(i));
            findings.samples.push_back(down(i));
            for (std::size_t j = 0; j < gpus_.size(); ++j) {
                if (j != i) findings.samples.push_back(across(i, j));
            }
        }
        for (const auto& [name, gpus] : bridges())
            findings.bridges.push_back(together(name, gpus));
        return findings;
    }

private:
    Probing(const GpuProbeRequest& request, DeviceCopy* copy) : request_(request), copy_(copy) {}

    int index(std::size_t gpu) const { return request_.gpus[gpu].index; }

    InsideSample up(std::size_t gpu) {
        const Reached& to = gpus_[gpu];
        return sample(kHostEnd, index(gpu), *to.stream, [&](Bytes size) {
            to.device().upload(to.host.data(), to.part(size), *to.stream);
        });
    }
    InsideSample down(std::size_t gpu) {
        const Reached& from = gpus_[gpu];
        return sample(index(gpu), kHostEnd, *from.stream, [&](Bytes size) {
            from.device().download(from.part(size), from.host.data(), *from.stream);
        });
    }
    InsideSample across(std::size_t sender, std::size_t receiver) {
        const Reached &from = gpus_[sender], &to = gpus_[receiver];
        return sample(index(sender), index(receiver), *from.stream, [&](Bytes size) {
            copy_(from.device(), from.part(size), to.device(), to.part(size), *from.stream);
        });
    }

    template <typename Queue>
    InsideSample sample(int from, int to, Stream& stream, const Queue& queue) const {
        copy_for({}, stream, request_.size, queue);  // the first may set up the way
        const Copies large = copy_for(request_.each, stream, request_.size, queue);
        const Copies small = copy_for({request_.each.value / 10}, stream, kSmall, queue);
        const double bytes = large.count * static_cast<double>(request_.size.value);
        return {.from = from,
                .to = to,
                .rate = {bytes * kGbit / large.seconds.value},
                .latency = {small.seconds.value / small.count},
                .bytes = {static_cast<std::int64_t>(bytes)},
                .seconds = large.seconds};
    }

    // The places of GPUs below a bridge that has several.
    std::map<std::string, std::vector<std::size_t>> bridges() const {
        std::map<std::string, std::vector<std::size_t>> bridges;
        for (std::size_t i = 0; i < gpus_.size(); ++i) {
            if (!request_.gpus[i].bridge.empty()) bridges[request_.gpus[i].bridge].push_back(i);
        }
        std::erase_if(bridges, [](const auto& bridge) { return bridge.second.size() < 2; });
        return bridges;
    }

    BridgeSample together(const std::string& name, const std::vector<std::size_t>& gpus) const {
        BridgeSample sample{.name = name};
        std::vector<Device*> devices;
        for (const std::size_t gpu : gpus) {
            sample.devices.push_back(index(gpu));
            devices.push_back(&gpus_[gpu].device());
        }
        const CopyTerms terms{.size = request_.size, .span = request_.each};
        for (const TransferRates& rates : measure_copies(devices, Ways::down, terms))
            sample.up.value += rates.download * kGbit;
        for (const TransferRates& rates : measure_copies(devices, Ways::up, terms))
            sample.down.value += rates.upload * kGbit;
        return sample;
    }

    const GpuProbeRequest& request_;
    DeviceCopy* const copy_;
    std::vector<Reached> gpus_;
};

class GpuInsideProbe final : public InsideProbe {
public:
    GpuInsideProbe(GpuProbeTerms terms, GpuProbeState& state)
        : terms_(std::move(terms)), state_(state) {}

    Result<InsideFindings> measure() override {
        if (const std::string why = why_not(); !why.empty())
            return make_error(ErrorCode::failed_precondition, "GPUs are not probed: {}", why);
        state_.runs = true;
        const Status ended = run();
        state_.runs = false;
        if (!ended) return within("the probe of the GPUs", ended.error());
        RM_TRY(const std::string text, read_text_file(terms_.request.path));
        return parse_inside_findings(text);
    }

private:
    std::string why_not() const {
        return state_.must_end ? "the worker is asked to stop" : terms_.why_not();
    }
    Status run() const {
        ChildWork work{.argv = terms_.command,
                       .log = terms_.request.path + ".log",
                       .limit = terms_.limit,
                       .why_stopped = [this] { return why_not(); }};
        work.argv.push_back(to_json(terms_.request));
        return run_child(work);
    }

    const GpuProbeTerms terms_;
    GpuProbeState& state_;
};

}  // namespace

Result<InsideFindings> probe_gpus(const GpuProbeRequest& request) {
    show(request.gpus);
    RM_TRY(Probing probing, Probing::start(request));
    return probing.measure();
}

int run_gpu_probe_child(std::string_view text) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto probe = [text]() -> Status {
        RM_TRY(const GpuProbeRequest request, parse_gpu_probe_request(text));
        RM_TRY(const InsideFindings findings, probe_gpus(request));
        return replace_text_file(request.path, to_json(findings));
    };
    const Status done = probe();
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}

std::unique_ptr<InsideProbe> make_gpu_inside_probe(GpuProbeTerms terms, GpuProbeState& state) {
    return std::make_unique<GpuInsideProbe>(std::move(terms), state);
}

}  // namespace rm
