// Compares generating and per-token losses with an independent Llama in PyTorch (greedy_llama.py).
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <mutex>

#include "engine/checkpoint/safetensors.h"
#include "engine/generate/generator.h"
#include "engine/generate/token_sampler.h"
#include "engine/hf/directory.h"
#include "tests/support/rank_rig.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

constexpr std::int64_t kPrompt = 65, kNew = 512, kAll = kPrompt + kNew;
constexpr const char* kModels[] = {"untied_gqa4", "tied_gqa8", "llama3"};

template <typename T>
std::vector<T> read(const SafetensorsFile& file, const std::string& name) {
    const SafetensorsEntry* entry = file.find(name);
    RM_CHECK(entry != nullptr, "{} has no {}", file.path(), name);
    std::vector<T> values(usize(entry->end - entry->begin) / sizeof(T));
    RM_CHECK(file.read(*entry, 0, std::as_writable_bytes(std::span(values))).ok(), "read");
    return values;
}

// A model and what PyTorch says.
struct Greedy {
    explicit Greedy(const std::string& name) {
        const std::string line = format("/usr/bin/python3 '{}' '{}' {} {} '{}' {}",
                                        RM_GREEDY_PROGRAM, model(), kPrompt, kNew, out(), name);
        status = WEXITSTATUS(std::system(line.c_str()));
        if (status != 0) return;
        const auto file = SafetensorsFile::open(out()).value();
        tokens = read<std::int32_t>(file, "tokens");
        losses = read<double>(file, "losses");
        margin = read<double>(file, "margin").at(0);
    }
    std::string model() const { return dir.file("model"); }
    std::string out() const { return dir.file("greedy.safetensors"); }

    TempDir dir;
    int status = 0;
    std::vector<std::int32_t> tokens;  // prompt and continuation
    std::vector<double> losses;        // of each but the first
    double margin = 0;                 // of the least certain choice
};
const Greedy& greedy(const std::string& name) {
    static std::map<std::string, Greedy> made;
    const auto found = made.find(name);
    return found != made.end() ? found->second : made.try_emplace(name, name).first->second;
}

struct Layout {
    const char* name;
    Mesh mesh;
    MemoryPolicy memory = {};
    bool exact = true;  // on the fp64 backend, else the CPU's
};
const MemoryPolicy kWindows = {.kept = KeptPlace::host, .working = WorkingSet::windows};
const Layout kLayouts[] = {
    {"one_rank", Mesh::make(1, 1, 1, 1).value()},
    {"one_rank_in_fp32", Mesh::make(1, 1, 1, 1).value(), {}, false},
    {"ring_3", Mesh::make(1, 3, 1, 1).value()},
    {"ulysses_2_tensor_2", Mesh::make(1, 1, 2, 2).value()},
    {"windows", Mesh::make(1, 1, 1, 1).value(), kWindows},
};

class GreedyReference : public testing::TestWithParam<std::tuple<const char*, Layout>> {
protected:
    void SetUp() override {
        if (expected().status == 77 || expected().status == 127)
            GTEST_SKIP() << "/usr/bin/python3 with PyTorch is not installed (python3-torch)";
        ASSERT_EQ(expected().status, 0) << "the reference program failed";
    }
    static const Greedy& expected() { return greedy(std::get<0>(GetParam())); }
    static const Layout& layout() { return std::get<1>(GetParam()); }
    static test::RigConfig config(std::int64_t context) {
        const auto directory = HfDirectory::open(expected().model()).value();
        test::RigConfig config{
            .backend = layout().exact ? test::ref_backend() : test::cpu_backend(1),
            .mesh = layout().mesh,
            .model = directory.model(),
            .context = context};
        config.memory = layout().memory;
        config.types.weights_only = true;
        config.change = [](WeightState& state) {
            const auto from = HfDirectory::open(expected().model()).value();
            RM_CHECK(load_hf_weights(from, state).ok(), "load");
        };
        return config;
    }
};

TEST_P(GreedyReference, FiveHundredAndTwelveTokensAreTheSame) {
    EXPECT_GT(expected().margin, 1e-4) << "PyTorch itself is not sure";
    test::RigConfig on = config(layout().mesh.num_ranks() == 3 ? 96 : 128);
    on.new_tokens = kNew;
    std::vector<std::int32_t> tokens;
    test::on_every_engine(on, [&](RankEngine& engine) {
        Meeting meeting(test::meeting_of(engine), engine.streams());
        Generator generator(engine, meeting);
        TokenSampler sampler({});
        std::vector<std::int32_t> all = expected().tokens;
        all.resize(kPrompt);
        generator.begin(all);
        while (std::ssize(all) < kAll)
            all.push_back(generator.agree(sampler.choose(generator.next(all.back()))));
        if (engine.spec().rank == 0) tokens = all;
    });
    EXPECT_EQ(tokens, expected().tokens);
}

TEST_P(GreedyReference, LossesOfAllTokensAreTheSame) {
    const std::int64_t context = kAll - 1;
    std::vector<double> losses(usize(context));
    std::mutex mutex;
    test::on_every_engine(config(context), [&](RankEngine& engine) {
        const Sample sample{expected().tokens, {context}};
        const StepBatch batch = engine.cut({sample});
        const std::vector<double> own = engine.trainer().losses(batch).by_micro_batch.at(0);
        const MicroBatch& micro = batch.micro_batches.at(0);
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < own.size(); ++i) {
            if (micro.contexts[i] > 0) losses.at(usize(micro.contexts[i] - 1)) = own[i];
        }
    });
    const double tolerance = layout().exact ? 1e-11 : 2e-5;
    for (std::size_t i = 0; i < losses.size(); ++i)
        ASSERT_NEAR(losses[i], expected().losses[i], tolerance) << i;
}

INSTANTIATE_TEST_SUITE_P(Models, GreedyReference,
                         testing::Combine(testing::ValuesIn(kModels), testing::ValuesIn(kLayouts)),
                         [](const auto& info) {
                             return std::string(std::get<0>(info.param)) + "_" +
                                    std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace rm
