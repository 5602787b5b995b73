// With state on the host, the update runs during the next step's forward. Checks that order, and
// that it changes nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "engine/train/rank_engine.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/support/rank_rig.h"
#include "tests/support/watched_device.h"

namespace rm {
namespace {

using namespace std::chrono_literals;

constexpr int kSteps = 3;
constexpr auto kHold = 200ms;

// Holds the host before layer 1 of its first update until some time after the next step's forward
// has passed layer 0.
class Gate {
public:
    // `pieces_before`: pieces of one update that precede layer 1.
    void close(std::ptrdiff_t pieces_before) { pieces_before_ = pieces_before; }
    bool was_passed() const { return passed_; }

    void see(std::string_view stream, std::string_view op) {
        std::unique_lock lock(mutex_);
        if (stream == "compute" && op == "swiglu_fwd") {
            ++num_mlps_;
            played_.notify_all();
        }
        if (stream != "host optimizer" || op != "adamw") return;
        if (num_updates_++ == 0) mlps_of_first_step_ = num_mlps_;
        if (num_updates_ - 1 != pieces_before_) return;
        passed_ = played_.wait_for(lock, 30s, [&] { return num_mlps_ > mlps_of_first_step_; });
        lock.unlock();
        std::this_thread::sleep_for(kHold);
    }

private:
    std::mutex mutex_;
    std::condition_variable played_;
    std::ptrdiff_t pieces_before_ = -1;  // never
    std::ptrdiff_t num_updates_ = 0;
    int num_mlps_ = 0;
    int mlps_of_first_step_ = 0;
    bool passed_ = false;
};

struct Layout {
    const char* name;
    Mesh mesh;
    int zero;
    DType compute = DType::bf16;
};

enum class Overlap { on, off };

// One rank of a mesh, with its state on the host.
class HostRank {
public:
    HostRank(const Layout& layout, int rank, const std::shared_ptr<LocalHub>& hub,
             test::OpWatcher watcher)
        : transport_(make_transport(layout.mesh, rank, hub)),
          kernels_(make_kernels(layout.compute, std::move(watcher))),
          host_(test::cpu_backend(1, layout.compute)()),
          engine_(*kernels_, *transport_, progress_,
                  {.model = deep_model(),
                   .mesh = layout.mesh,
                   .rank = rank,
                   .zero = layout.zero,
                   .types = {.moments = DType::bf16},
                   .host = host_.get()}) {
        engine_.state().initialize(1);
        RM_CHECK(
            engine_.enter({128, {.tile_tokens = 64, .chunk_tokens = 64}, engine_.spec().model.rope})
                .ok(),
            "it does not fit");
    }

    RankEngine& engine() { return engine_; }

    StepResult step(int number) {
        std::vector<Sample> sequences(2, {.tokens = {}, .documents = {128}});
        Rng rng(static_cast<std::uint64_t>(number));
        for (Sample& sample : sequences) {
            for (int i = 0; i <= 128; ++i)
                sample.tokens.push_back(static_cast<std::int32_t>(rng.below(61)));
        }
        return engine_.trainer().step(engine_.cut(sequences),
                                      {.learning_rate = 1e-2, .step = number}, Trainer::Wish::none);
    }

    std::ptrdiff_t pieces_before_layer_1() const {
        const WeightState& state = engine_.state();
        const ParameterTable& table = state.table();
        return std::ranges::count_if(state.held(), [&](const StatePiece& piece) {
            const int unit = state.parameter(piece.parameter).unit;
            return unit == ParameterTable::kNoUnit || unit == table.embedding_unit ||
                   unit == table.layer_unit(0);
        });
    }

    // Returns the whole state.
    std::string state_bytes() {
        engine_.weights().finish_update();
        std::string bytes;
        for (const StatePiece& piece : engine_.state().held()) {
            for (const TensorView& view : {piece.weight, piece.moment1, piece.moment2})
                bytes.append(static_cast<const char*>(view.data()), view.bytes().size());
        }
        return bytes;
    }

private:
    // More layers than the buffers that they share.
    static ModelConfig deep_model() {
        ModelConfig model = test::small_model();
        model.num_layers = 5;
        return model;
    }
    static std::unique_ptr<Transport> make_transport(const Mesh& mesh, int rank,
                                                     const std::shared_ptr<LocalHub>& hub) {
        TransportOptions options{.rank = rank, .num_ranks = mesh.num_ranks()};
        options.peers = peers_of(mesh)[static_cast<std::size_t>(rank)];
        return make_local_transport(hub, options);
    }
    static std::unique_ptr<Kernels> make_kernels(DType compute, test::OpWatcher watcher) {
        test::set_op_watcher(std::move(watcher));
        return make_cpu_kernels(
            {.num_threads = 1, .compute = compute, .make_device = test::make_watched_device});
    }

    ProgressPage progress_{};
    std::unique_ptr<Transport> transport_;
    std::unique_ptr<Kernels> kernels_;
    std::unique_ptr<Kernels> host_;
    RankEngine engine_;
};

struct Trained {
    std::vector<double> losses;
    std::vector<double> optimizer_seconds;
    std::string state;
    bool overlapped = false;
};

Trained train_rank(const Layout& layout, int rank, const std::shared_ptr<LocalHub>& hub,
                   Overlap overlap) {
    Gate gate;
    HostRank host_rank(layout, rank, hub, [&](auto stream, auto op) { gate.see(stream, op); });
    if (overlap == Overlap::on) gate.close(host_rank.pieces_before_layer_1());
    Trained trained;
    for (int step = 1; step <= kSteps; ++step) {
        const StepResult result = host_rank.step(step);
        trained.losses.push_back(result.loss);
        trained.optimizer_seconds.push_back(result.phase_seconds.at("optimizer"));
        if (overlap == Overlap::off) host_rank.engine().weights().finish_update();
    }
    trained.state = host_rank.state_bytes();
    trained.overlapped = gate.was_passed();
    return trained;
}

std::vector<Trained> train(const Layout& layout, Overlap overlap) {
    const int num_ranks = layout.mesh.num_ranks();
    const auto hub = make_local_hub(num_ranks);
    std::vector<Trained> ranks(static_cast<std::size_t>(num_ranks));
    test::on_every_rank(num_ranks, [&](int rank) {
        ranks[static_cast<std::size_t>(rank)] = train_rank(layout, rank, hub, overlap);
    });
    return ranks;
}

class UpdateOverlap : public testing::TestWithParam<Layout> {};

TEST_P(UpdateOverlap, UpdatesALayerWhileThoseBeforeItComputeAndChangesNoBit) {
    const std::vector<Trained> during = train(GetParam(), Overlap::on);
    const std::vector<Trained> before = train(GetParam(), Overlap::off);
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
        EXPECT_TRUE(during[rank].overlapped) << "rank " << rank;
        EXPECT_EQ(during[rank].losses, before[rank].losses);
        EXPECT_TRUE(during[rank].state == before[rank].state) << "rank " << rank;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, UpdateOverlap,
    testing::Values(Layout{"Alone", Mesh(), 0}, Layout{"AloneInF32", Mesh(), 0, DType::f32},
                    Layout{"Zero2", Mesh::make(2, 1, 1, 1).value(), 2},
                    Layout{"Zero3", Mesh::make(2, 1, 1, 1).value(), 3},
                    Layout{"Zero3InF32", Mesh::make(2, 1, 1, 1).value(), 3, DType::f32},
                    Layout{"Ring", Mesh::make(1, 2, 1, 1).value(), 3},
                    Layout{"Tensor", Mesh::make(1, 1, 1, 2).value(), 0}),
    [](const auto& info) { return info.param.name; });

// The waiting time of compute counts as optimizer time of the step that waits. The rest of layer 0
// hides some of the update.
TEST(UpdateOverlapTime, IsReportedWhereItIsExposed) {
    const double held = std::chrono::duration<double>(kHold).count();
    for (const Trained& rank : train({"Zero3", Mesh::make(2, 1, 1, 1).value(), 3}, Overlap::on))
        EXPECT_GT(rank.optimizer_seconds[1], 0.25 * held);
}

class FailingUpdate : public testing::Test {
protected:
    FailingUpdate()
        : rank_({"Alone", Mesh(), 0}, 0, make_local_hub(1), [](auto /*stream*/, auto op) {
              if (op == "adamw") throw std::runtime_error("the host is out of order");
          }) {}

    static void expect_names_it(const std::function<void()>& call) {
        try {
            call();
            FAIL() << "nothing was thrown";
        } catch (const StreamError& error) {
            EXPECT_NE(std::string(error.what()).find("adamw on stream host optimizer"),
                      std::string::npos)
                << error.what();
        }
    }

    HostRank rank_;
};

TEST_F(FailingUpdate, IsThrownByTheNextStep) {
    rank_.step(1);
    expect_names_it([&] { rank_.step(2); });
}

TEST_F(FailingUpdate, IsThrownToWhoeverWantsTheState) {
    rank_.step(1);
    expect_names_it([&] { rank_.engine().weights().finish_update(); });
}

}  // namespace
}  // namespace rm
