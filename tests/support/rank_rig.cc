#include "tests/support/rank_rig.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "kernels/bf16.h"
#include "kernels/closed_device.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/ref/ref_kernels.h"

namespace rm::test {
namespace {

template <typename T>
std::vector<double> read_as(Device& device, const TensorView& x) {
    std::vector<T> values(static_cast<std::size_t>(x.num_elements()));
    device.read(x, values.data());
    return {values.begin(), values.end()};
}

std::vector<double> to_doubles(Device& device, const TensorView& x) {
    if (x.dtype() == DType::f64) return read_as<double>(device, x);
    if (x.dtype() == DType::f32) return read_as<float>(device, x);
    std::vector<double> values = read_as<Bf16>(device, x);
    std::ranges::transform(values, values.begin(),
                           [](double bits) { return from_bf16(static_cast<Bf16>(bits)); });
    return values;
}

// Puts the part that a rank holds in its place in the whole; NaN marks elements not yet put.
void put(Values& whole, const Parameter& p, std::int64_t first, const std::vector<double>& part) {
    std::vector<double>& values = whole[p.name];
    if (values.empty()) values.assign(static_cast<std::size_t>(p.num_elements()), std::nan(""));
    for (std::size_t i = 0; i < part.size(); ++i) {
        const std::int64_t at = p.whole_index(first + static_cast<std::int64_t>(i));
        double& value = values[static_cast<std::size_t>(at)];
        RM_CHECK(std::isnan(value) || value == part[i], "{}: element {} is {} here, {} elsewhere",
                 p.name, at, part[i], value);
        value = part[i];
    }
}

void collect(const WeightState& state, RigResult& result) {
    Device& device = state.device();
    for (const StatePiece& piece : state.held()) {
        put(result.weights, state.parameter(piece.parameter), piece.first,
            to_doubles(device, piece.weight));
    }
    const bool all_summed = state.share().stage == 0;
    for (const StatePiece& piece : all_summed ? state.held() : state.owned()) {
        put(result.gradients, state.parameter(piece.parameter), piece.first,
            to_doubles(device, piece.grad));
    }
}

void expect_whole(const Values& values) {
    for (const auto& [name, elements] : values) {
        for (const double element : elements)
            RM_CHECK(!std::isnan(element), "{} is not whole, or has a NaN", name);
    }
}

RigResult train(const RigConfig& config, RankEngine& engine) {
    RigResult result;
    const auto batch_at = [&](std::int64_t step) {
        return engine.cut(random_sequences(config, step));
    };
    if (config.steps == 0) result.losses.push_back(engine.trainer().gradients(batch_at(0)).loss);
    for (std::int64_t step = 0; step < config.steps; ++step) {
        const OptimizerStep optimizer{.learning_rate = config.learning_rate, .step = step + 1};
        const StepResult r = engine.trainer().step(batch_at(step), optimizer, Trainer::Wish::none);
        result.losses.push_back(r.loss);
        result.grad_norms.push_back(r.grad_norm);
        result.last = r;
    }
    const auto bytes = engine.streams().communicator.counters().bytes_sent;
    result.bytes.push_back(bytes);
    result.ring_bytes.push_back(bytes.contains("ring ring_shift") ? bytes.at("ring ring_shift")
                                                                  : 0);
    return result;
}

std::unique_ptr<Transport> make_transport(const RigConfig& config, int rank, Exchange& exchange,
                                          const std::shared_ptr<LocalHub>& hub) {
    TransportOptions options;
    options.rank = rank;
    options.num_ranks = config.mesh.num_ranks();
    options.peers = peers_of(config.mesh)[static_cast<std::size_t>(rank)];
    if (config.transport == RigTransport::local) return make_local_transport(hub, options);
    const int node = config.transport == RigTransport::shared ? 0 : rank;
    return make_gloo_transport(format("127.0.0.{}", 1 + node), exchange, options);
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
        return make_cpu_kernels({.num_threads = num_threads, .compute = compute, .make_device = [] {
                                     return make_closed_device();
                                 }});
    };
}

std::vector<Sample> random_sequences(const RigConfig& config, std::int64_t step) {
    std::vector<Sample> sequences(static_cast<std::size_t>(config.sequences));
    Rng rng(config.seed * 1000 + static_cast<std::uint64_t>(step));
    for (Sample& sample : sequences) {
        for (std::int64_t i = 0; i <= config.context; ++i) {
            const auto V = static_cast<std::uint64_t>(config.model.vocabulary);
            sample.tokens.push_back(static_cast<std::int32_t>(rng.below(V)));
        }
        sample.documents = config.documents;
        if (sample.documents.empty()) sample.documents = {config.context};
    }
    return sequences;
}

void on_every_engine(const RigConfig& config, const std::function<void(RankEngine&)>& use) {
    const int num_ranks = config.mesh.num_ranks();
    const auto hub = make_local_hub(num_ranks, config.links);
    auto exchanges = make_local_exchanges(num_ranks);
    MemoryPolicy memory = config.memory;
    memory.tile_tokens = config.tile;
    memory.chunk_tokens = config.chunk;
    on_every_rank(num_ranks, [&](int rank) {
        const auto transport =
            make_transport(config, rank, *exchanges[static_cast<std::size_t>(rank)], hub);
        const auto kernels = config.backend();
        const auto host = config.host ? config.host() : nullptr;
        ProgressPage progress{};
        RankEngine engine(*kernels, *transport, progress,
                          {.model = config.model,
                           .mesh = config.mesh,
                           .rank = rank,
                           .zero = config.zero,
                           .types = config.types,
                           .linears = config.linears,
                           .attention = config.attention,
                           .messages = config.messages,
                           .positions = config.positions,
                           .host = host.get(),
                           .vocabulary_block = config.vocabulary_block});
        engine.state().initialize(config.seed);
        if (config.change) config.change(engine.state());
        StageShape shape{config.context, memory, config.model.rope};
        shape.new_tokens = config.new_tokens;
        const Status entered = engine.enter(shape);
        RM_CHECK(entered.ok(), "{}", entered.error().message);
        use(engine);
    });
}

Meeting::Options meeting_of(const RankEngine& engine) {
    return {.rank = engine.spec().rank, .num_ranks = engine.spec().mesh.num_ranks()};
}

RigResult run_rig(const RigConfig& config) {
    std::vector<RigResult> results(static_cast<std::size_t>(config.mesh.num_ranks()));
    RigResult whole;
    std::mutex mutex;
    on_every_engine(config, [&](RankEngine& engine) {
        RigResult& result = results[static_cast<std::size_t>(engine.spec().rank)];
        result = train(config, engine);
        for (std::size_t kind = 0; kind < kNumMemoryKinds; ++kind) {
            const auto k = static_cast<MemoryKind>(kind);
            result.memory[std::string(to_string(k))] =
                engine.streams().kernels.device().allocated(k);
        }
        engine.weights().finish_update();
        const std::lock_guard lock(mutex);
        collect(engine.state(), whole);
    });
    expect_whole(whole.weights);
    expect_whole(whole.gradients);
    for (std::size_t rank = 1; rank < results.size(); ++rank) {
        RM_CHECK(results[rank].losses == results[0].losses, "rank {} has other losses", rank);
        RM_CHECK(results[rank].grad_norms == results[0].grad_norms, "rank {} has other norms",
                 rank);
        results[0].ring_bytes.push_back(results[rank].ring_bytes[0]);
        results[0].bytes.push_back(results[rank].bytes[0]);
    }
    results[0].gradients = std::move(whole.gradients);
    results[0].weights = std::move(whole.weights);
    return results[0];
}

MemoryPolicy policy_of(KeptPlace kept, WorkingSet working, Keep keep, double alpha) {
    MemoryPolicy p;
    p.kept = kept;
    p.working = working;
    p.keep = keep;
    p.alpha = alpha;
    return p;
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
