#include "tests/support/rank_rig.h"

#include <cmath>
#include <exception>
#include <thread>

#include "base/random.h"
#include "engine/comm/communicator.h"
#include "engine/model/model.h"
#include "engine/train/trainer.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/ref/ref_kernels.h"
#include "tests/support/closed_device.h"

namespace rm::test {
namespace {

std::vector<Sample> random_sequences(const RigConfig& config, std::int64_t step) {
    std::vector<Sample> sequences(static_cast<std::size_t>(config.sequences));
    Rng rng(config.seed * 1000 + static_cast<std::uint64_t>(step));
    for (Sample& sample : sequences) {
        for (std::int64_t i = 0; i <= config.context; ++i) {
            const auto V = static_cast<std::uint64_t>(config.model.vocabulary);
            sample.tokens.push_back(static_cast<std::int32_t>(rng.below(V)));
        }
    }
    return sequences;
}

template <typename T>
std::vector<double> read_as(Device& device, const TensorView& x) {
    std::vector<T> values(static_cast<std::size_t>(x.num_elements()));
    device.read(x, values.data());
    return {values.begin(), values.end()};
}

std::vector<double> to_doubles(Device& device, const TensorView& x) {
    return x.dtype() == DType::f64 ? read_as<double>(device, x) : read_as<float>(device, x);
}

RigResult run_one(const RigConfig& config, int rank, Transport& transport) {
    const auto kernels = config.backend();
    const auto compute = kernels->device().make_stream("compute");
    const auto communication = kernels->device().make_host_stream("communication");
    ProgressPage progress{};
    Communicator communicator(transport, kernels->device(), *communication, config.mesh,
                              progress.collectives);
    const RankStreams streams{*kernels, *compute, *communication, communicator};
    Weights weights(*kernels, config.model);
    weights.initialize(config.seed);
    const auto layout =
        make_rank_layout(config.context, config.mesh, rank, config.tile, config.chunk);
    RM_CHECK(layout.ok(), "{}", layout.error().message);
    Model model(streams, config.model, weights, *layout, config.model.rope);
    Trainer trainer(streams, weights, model, progress);
    weights.prepare(model.ops());
    RigResult result;
    const auto batch_at = [&](std::int64_t step) {
        return make_step_batch(random_sequences(config, step), *layout, config.mesh, rank);
    };
    if (config.steps == 0) result.losses.push_back(trainer.gradients(batch_at(0)).loss);
    for (std::int64_t step = 0; step < config.steps; ++step) {
        const StepBatch batch = batch_at(step);
        const StepResult r = trainer.step(batch, {{}, 1e-2, step + 1}, Trainer::StopRequest::no);
        result.losses.push_back(r.loss);
        result.grad_norms.push_back(r.grad_norm);
    }
    for (int i = 0; i < static_cast<int>(weights.table().all.size()); ++i) {
        const std::string& name = weights.table().all[static_cast<std::size_t>(i)].name;
        result.gradients[name] = to_doubles(kernels->device(), weights.grad(i));
        result.weights[name] = to_doubles(kernels->device(), weights.weight(i));
    }
    result.ring_bytes.push_back(communicator.counters().bytes_sent["ring ring_shift"]);
    return result;
}

std::unique_ptr<Transport> make_transport(const RigConfig& config, int rank, Exchange& exchange,
                                          const std::shared_ptr<LocalHub>& hub) {
    TransportOptions options;
    options.rank = rank;
    options.num_ranks = config.mesh.num_ranks();
    options.peers = peers_of(config.mesh)[static_cast<std::size_t>(rank)];
    if (config.transport == RigTransport::local) return make_local_transport(hub, options);
    return make_gloo_transport("127.0.0.1", exchange, options);
}

}  // namespace

void on_every_rank(int num_ranks, const std::function<void(int rank)>& run) {
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(num_ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < num_ranks; ++rank) {
        threads.emplace_back([&run, rank, &failure = failures[static_cast<std::size_t>(rank)]] {
            try {
                run(rank);
            } catch (...) {
                failure = std::current_exception();
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    for (const std::exception_ptr& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

KernelsFactory ref_backend() {
    return [] { return make_ref_kernels(); };
}

KernelsFactory cpu_backend(int num_threads, DType compute) {
    return [num_threads, compute] {
        return make_cpu_kernels({.num_threads = num_threads, .compute = compute});
    };
}

KernelsFactory closed_cpu_backend(int num_threads, DType compute) {
    return [num_threads, compute] {
        return make_cpu_kernels(
            {.num_threads = num_threads, .compute = compute, .make_device = make_closed_device});
    };
}

RigResult run_rig(const RigConfig& config) {
    const auto num_ranks = static_cast<std::size_t>(config.mesh.num_ranks());
    const auto hub = make_local_hub(config.mesh.num_ranks());
    auto exchanges = make_local_exchanges(config.mesh.num_ranks());
    std::vector<RigResult> results(num_ranks);
    on_every_rank(config.mesh.num_ranks(), [&](int rank) {
        const auto i = static_cast<std::size_t>(rank);
        const auto transport = make_transport(config, rank, *exchanges[i], hub);
        results[i] = run_one(config, rank, *transport);
    });
    for (std::size_t rank = 1; rank < num_ranks; ++rank) {
        RM_CHECK(results[rank].losses == results[0].losses, "rank {} has other losses", rank);
        RM_CHECK(results[rank].gradients == results[0].gradients, "rank {} has other gradients",
                 rank);
        RM_CHECK(results[rank].weights == results[0].weights, "rank {} has other weights", rank);
        results[0].ring_bytes.push_back(results[rank].ring_bytes[0]);
    }
    return results[0];
}

ModelConfig small_model() {
    return {.vocabulary = 61,
            .hidden = 32,
            .num_layers = 2,
            .num_query_heads = 4,
            .num_kv_heads = 2,
            .head_dim = 8,
            .feed_forward = 48};
}

double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double largest = 0;
    double difference = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        largest = std::max(largest, std::abs(b[i]));
        difference = std::max(difference, std::abs(a[i] - b[i]));
    }
    return difference / std::max(largest, 1e-300);
}

double norm(const std::vector<double>& a) {
    double sum = 0;
    for (const double x : a)
        sum += x * x;
    return std::sqrt(sum);
}

double norm_difference(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> difference(b.size());
    for (std::size_t i = 0; i < b.size(); ++i)
        difference[i] = a[i] - b[i];
    return norm(difference);
}

}  // namespace rm::test
