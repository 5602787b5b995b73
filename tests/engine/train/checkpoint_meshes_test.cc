// Any layout resumes from a checkpoint of any other: save on A, load on B, save, load on A.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/random.h"
#include "engine/checkpoint/checkpoint_reader.h"
#include "engine/train/rank_engine.h"
#include "engine/train/save/checkpointer.h"
#include "tests/support/rank_rig.h"
#include "tests/support/some_cases.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

struct Layout {
    int data, ring, ulysses, tensor, zero;
    std::int64_t block = 0;  // elements of embedding and head that travel together
};

std::string name_of(const Layout& l) {
    return format("D{}R{}U{}T{}Zero{}{}", l.data, l.ring, l.ulysses, l.tensor, l.zero,
                  l.block > 0 ? format("B{}", l.block) : "");
}

Mesh mesh_of(const Layout& l) {
    return Mesh::make(l.data, l.ring, l.ulysses, l.tensor).value();
}

Sample random_sample(std::int64_t context, std::int64_t vocabulary) {
    Rng rng(5);
    Sample sample{.tokens = {}, .documents = {context}};
    for (std::int64_t i = 0; i <= context; ++i) {
        sample.tokens.push_back(
            static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(vocabulary))));
    }
    return sample;
}

class CheckpointMeshes : public testing::TestWithParam<std::tuple<Layout, Layout>> {
protected:
    CheckpointMeshes() {
        model_.num_query_heads = 12;
        model_.num_kv_heads = 6;  // does not divide over 4 tensor ranks
        model_.vocabulary = 61;   // nor over 2
    }

    // Every rank starts from `from` (or from the seed and one step), then saves to `to`.
    void pass_through(const Layout& layout, const std::string& from, const std::string& to) {
        const Mesh mesh = mesh_of(layout);
        const auto hub = make_local_hub(mesh.num_ranks());
        test::on_every_rank(mesh.num_ranks(), [&](int rank) {
            TransportOptions options{.rank = rank, .num_ranks = mesh.num_ranks()};
            options.peers = peers_of(mesh)[static_cast<std::size_t>(rank)];
            const auto transport = make_local_transport(hub, options);
            const auto kernels = test::cpu_backend(1)();
            ProgressPage progress{};
            RankEngine engine(*kernels, *transport, progress,
                              {.model = model_,
                               .mesh = mesh,
                               .rank = rank,
                               .zero = layout.zero,
                               .types = {.moments = moments_},
                               .vocabulary_block = layout.block});
            from.empty() ? begin(engine) : restore(engine, from, mesh.num_ranks());
            save(engine, to, mesh.num_ranks());
        });
    }

    void begin(RankEngine& engine) const {
        engine.state().initialize(3);
        RM_CHECK(engine.enter({768, {.tile_tokens = 192, .chunk_tokens = 192}, model_.rope}).ok(),
                 "the layout does not fit");
        const StepBatch batch = engine.cut({random_sample(768, model_.vocabulary)});
        engine.trainer().step(batch, {.learning_rate = 1e-2}, Trainer::Wish::none);
    }

    void restore(RankEngine& engine, const std::string& from, int num_ranks) {
        Meeting meeting({engine.spec().rank, num_ranks}, engine.streams());
        Checkpointer checkpointer({from, Epoch{1}, engine.spec().rank, num_ranks, 1},
                                  engine.streams(), meeting, engine.state(), faults_);
        const auto restored = checkpointer.restore();
        RM_CHECK(restored.ok(), "{}", restored.error().message);
    }

    void save(RankEngine& engine, const std::string& to, int num_ranks) {
        Meeting meeting({engine.spec().rank, num_ranks}, engine.streams());
        Checkpointer checkpointer({to, Epoch{1}, engine.spec().rank, num_ranks, 1},
                                  engine.streams(), meeting, engine.state(), faults_);
        const TrainPosition position{.step = 1};
        RM_CHECK(checkpointer.begin(position, nlohmann::json::object()).ok(), "begin");
        const auto saved = checkpointer.finish([](auto&, auto&) { return Status(); });
        RM_CHECK(saved.ok(), "{}", saved.error().message);
    }

    static std::map<std::string, std::vector<std::byte>> tensors_of(const std::string& dir) {
        const auto checkpoint = Checkpoint::open(dir + "/e1-s1", Verify::hashes);
        RM_CHECK(checkpoint.ok(), "{}", checkpoint.error().message);
        std::map<std::string, std::vector<std::byte>> tensors;
        for (const auto& [name, whole] : checkpoint->tensors()) {
            auto& bytes = tensors[name];
            bytes.resize(static_cast<std::size_t>(num_bytes(whole)));
            RM_CHECK(CheckpointReader(*checkpoint).read(whole, bytes).ok(), "{}", name);
        }
        return tensors;
    }

    static std::map<std::string, std::string> files_of(const std::string& dir) {
        std::map<std::string, std::string> files;
        for (const auto& entry : std::filesystem::directory_iterator(dir + "/e1-s1")) {
            std::ifstream in(entry.path(), std::ios::binary);
            files[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
        }
        return files;
    }

    TempDir dir_;
    ModelConfig model_ = test::small_model();
    std::optional<DType> moments_;
    Faults faults_;
};

TEST_P(CheckpointMeshes, EveryByteComesBack) {
    const auto& [a, b] = GetParam();
    pass_through(a, "", dir_.file("first"));
    pass_through(b, dir_.file("first"), dir_.file("second"));
    pass_through(a, dir_.file("second"), dir_.file("third"));
    EXPECT_EQ(tensors_of(dir_.file("second")), tensors_of(dir_.file("first")));
    EXPECT_EQ(files_of(dir_.file("third")), files_of(dir_.file("first")));
}

const std::tuple<Layout, Layout> kPairs[] = {
    {{1, 1, 1, 1, 0}, {2, 2, 1, 1, 3}},
    {{1, 1, 1, 1, 0}, {1, 1, 1, 4, 0}},
    {{1, 1, 1, 1, 0}, {2, 2, 2, 2, 3}},
    {{2, 1, 1, 1, 3}, {3, 1, 1, 1, 3}},
    {{2, 1, 1, 1, 1}, {1, 1, 1, 2, 0}},
    {{2, 1, 1, 2, 2}, {1, 4, 1, 1, 3}},
    {{1, 1, 2, 2, 3}, {2, 2, 1, 1, 0}},
    {{3, 1, 1, 2, 3}, {1, 1, 2, 3, 1}},
    {{1, 3, 1, 4, 2}, {2, 1, 3, 1, 3}},
    {{5, 1, 1, 1, 2}, {1, 2, 1, 3, 3}},
    {{2, 2, 1, 2, 0}, {2, 2, 1, 2, 3}},
    {{1, 1, 4, 3, 1}, {4, 1, 1, 1, 0}},
    {{2, 2, 2, 2, 3}, {1, 1, 3, 4, 3}},
    // Several blocks of embedding and head, of other sizes on the other mesh.
    {{1, 1, 1, 1, 0}, {2, 1, 1, 1, 3, 512}},
    {{3, 1, 1, 1, 3, 512}, {2, 1, 1, 2, 2, 256}},
    {{2, 1, 1, 4, 3, 256}, {5, 1, 1, 1, 2, 1024}},
};

INSTANTIATE_TEST_SUITE_P(Pairs, CheckpointMeshes, testing::ValuesIn(test::some(kPairs)),
                         [](const auto& info) {
                             return name_of(std::get<0>(info.param)) + "To" +
                                    name_of(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace rm
