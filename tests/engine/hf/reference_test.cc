// Compares the engine with an independent Llama in PyTorch (reference_llama.py): from the same
// directories both must compute the same numbers.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "engine/hf/directory.h"
#include "engine/hf/export.h"
#include "engine/train/rank_engine.h"
#include "tests/engine/hf/sample_directory.h"
#include "tests/support/rank_rig.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

constexpr const char* kCases[] = {"untied_gqa1",
                                  "untied_gqa4",
                                  "tied_gqa8",
                                  "tied_and_stored",
                                  "wide_heads",
                                  "bf16",
                                  "f16",
                                  "linear",
                                  "dynamic",
                                  "dynamic_within",
                                  "yarn",
                                  "yarn_all_fields",
                                  "longrope_beyond",
                                  "longrope_within",
                                  "llama3"};

// Returns the program's exit status; 77: PyTorch is missing, 127: Python is missing.
int run_program(const std::string& command, const std::string& dir) {
    const std::string line =
        format("/usr/bin/python3 '{}' {} '{}'", RM_REFERENCE_PROGRAM, command, dir);
    return WEXITSTATUS(std::system(line.c_str()));
}

// The models and their results, computed once per program.
struct Reference {
    TempDir dir;
    int status = run_program("make", dir.path());
};
const Reference& reference() {
    static const Reference made;
    return made;
}

// The file expected.safetensors of one case.
class Expected {
public:
    explicit Expected(const std::string& path) : file_(SafetensorsFile::open(path).value()) {}

    template <typename T>
    std::vector<T> read(const std::string& name) const {
        const SafetensorsEntry* entry = file_.find(name);
        RM_CHECK(entry != nullptr, "{} has no {}", file_.path(), name);
        std::vector<T> values(static_cast<std::size_t>(entry->end - entry->begin) / sizeof(T));
        const Status status = file_.read(*entry, 0, std::as_writable_bytes(std::span(values)));
        RM_CHECK(status.ok(), "{}", status.error().message);
        return values;
    }
    std::vector<std::int64_t> shape(const std::string& name) const {
        return file_.find(name)->shape;
    }

private:
    SafetensorsFile file_;
};

std::vector<double> to_doubles(const TensorView& x) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < x.num_elements(); ++i) {
        values.push_back(x.dtype() == DType::f64 ? x.as<double>()[i] : x.as<float>()[i]);
    }
    return values;
}

// One rank of the engine, with a directory's weights.
class Engine {
public:
    Engine(const test::KernelsFactory& backend, const HfDirectory& directory, std::int64_t context)
        : kernels_(backend()),
          transport_(make_local_transport(make_local_hub(1), {.rank = 0, .num_ranks = 1})),
          engine_(*kernels_, *transport_, progress_, {.model = directory.model()}) {
        const Status loaded = load_hf_weights(directory, engine_.state());
        RM_CHECK(loaded.ok(), "{}", loaded.error().message);
        const Status entered =
            engine_.enter({context, {.tile_tokens = 64, .chunk_tokens = 64}, config().rope});
        RM_CHECK(entered.ok(), "{}", entered.error().message);
    }

    WeightState& weights() { return engine_.state(); }
    const ModelConfig& config() const { return engine_.spec().model; }

    // Returns logits (sequences * S, V) of sequences of S + 1 tokens each.
    std::vector<double> logits(const std::vector<Sample>& sequences) {
        std::vector<double> all;
        for (const MicroBatch& micro : batch(sequences).micro_batches) {
            for (const double x : logits_of(micro))
                all.push_back(x);
        }
        return all;
    }
    StepBatch batch(const std::vector<Sample>& sequences) const { return engine_.cut(sequences); }
    Trainer& trainer() { return engine_.trainer(); }

private:
    std::vector<double> logits_of(const MicroBatch& micro) {
        Device& device = kernels_->device();
        Stream& compute = engine_.streams().compute;
        const DType type = kernels_->types().compute;
        const std::int64_t T = engine_.layout().local_tokens;
        const Tensor hidden(device, MemoryKind::activations, type, {T, config().hidden});
        const Tensor logits(device, MemoryKind::activations, type, {T, config().vocabulary});
        device.upload(micro.tokens.data(), engine_.model().tokens(), compute);
        engine_.model().queue_hidden(micro.runs, hidden);
        const LinearFwd head{hidden, &engine_.weights().longest_head(), logits};
        const Buffer workspace =
            device.allocate(kernels_->workspace_bytes(head), MemoryKind::workspace);
        kernels_->run(head, {workspace.data(), workspace.size()}, compute);
        compute.synchronize();
        return to_doubles(logits->rows(0, engine_.layout().context));
    }

    ProgressPage progress_{};
    std::unique_ptr<Kernels> kernels_;
    std::unique_ptr<Transport> transport_;
    RankEngine engine_;
};

class HfReference : public testing::Test {
protected:
    void SetUp() override {
        if (reference().status == 77 || reference().status == 127) {
            GTEST_SKIP() << "/usr/bin/python3 with PyTorch is not installed (python3-torch)";
        }
        ASSERT_EQ(reference().status, 0) << "the reference program failed";
    }
    static std::string file(const std::string& name, const std::string& part) {
        return reference().dir.file(name + "/" + part);
    }
    static HfDirectory open(const std::string& name, const std::string& part) {
        auto directory = HfDirectory::open(file(name, part));
        RM_CHECK(directory.ok(), "{}", directory.error().message);
        return std::move(*directory);
    }
    // The sequences of every step.
    static std::vector<std::vector<Sample>> steps_of(const Expected& expected) {
        const std::vector<std::int64_t> shape = expected.shape("tokens");
        const std::vector<std::int32_t> tokens = expected.read<std::int32_t>("tokens");
        std::vector<std::vector<Sample>> steps(static_cast<std::size_t>(shape[0]));
        auto at = tokens.begin();
        for (auto& sequences : steps) {
            for (std::int64_t i = 0; i < shape[1]; ++i, at += shape[2])
                sequences.push_back({{at, at + shape[2]}, {shape[2] - 1}});
        }
        return steps;
    }
    static std::int64_t context_of(const Expected& expected) {
        return expected.shape("tokens")[2] - 1;
    }
};

struct Backend {
    const char* name;
    test::KernelsFactory make;
    double tolerance;  // of a tensor's largest element
};

class HfReferenceCase : public HfReference,
                        public testing::WithParamInterface<std::tuple<const char*, int>> {
protected:
    static Backend backend() {
        if (std::get<1>(GetParam()) == 0) return {"cpu", test::cpu_backend(1), 1e-5};
        return {"ref", test::ref_backend(), 1e-11};
    }
};

TEST_P(HfReferenceCase, LogitsLossGradientsAndTenUpdatesAgree) {
    const std::string name = std::get<0>(GetParam());
    const double tolerance = backend().tolerance;
    const Expected expected(file(name, "expected.safetensors"));
    Engine engine(backend().make, open(name, "model"), context_of(expected));
    const auto steps = steps_of(expected);
    // Each of `updates` adds an error of its own: AdamW divides a gradient by its own root mean
    // square, so that an element far below the largest carries its rounding into the weight.
    const auto expect_close = [&](const std::vector<double>& actual, const std::string& tensor,
                                  std::size_t updates = 1) {
        const std::vector<double> values = expected.read<double>(tensor);
        ASSERT_EQ(actual.size(), values.size()) << tensor;
        EXPECT_LE(test::relative_difference(actual, values),
                  tolerance * static_cast<double>(updates))
            << tensor;
    };
    expect_close(engine.logits(steps[0]), "logits");
    engine.trainer().gradients(engine.batch(steps[0]));
    const std::vector<Parameter>& parameters = engine.weights().table().all;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        expect_close(to_doubles(engine.weights().grad(static_cast<int>(i))),
                     "grad." + parameters[i].name);
    }
    const std::vector<double> o = expected.read<double>("optimizer");
    const OptimizerSpec optimizer{o[1], o[2], o[3], o[4], o[5]};
    std::vector<double> losses;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const OptimizerStep step{
            .spec = optimizer, .learning_rate = o[0], .step = static_cast<std::int64_t>(i) + 1};
        losses.push_back(
            engine.trainer().step(engine.batch(steps[i]), step, Trainer::Wish::none).loss);
    }
    expect_close(losses, "losses");
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        expect_close(to_doubles(engine.weights().weight(static_cast<int>(i))),
                     "after." + parameters[i].name, steps.size());
    }
}

INSTANTIATE_TEST_SUITE_P(Models, HfReferenceCase,
                         testing::Combine(testing::ValuesIn(kCases), testing::Values(0, 1)),
                         [](const auto& info) {
                             return std::string(std::get<0>(info.param)) +
                                    (std::get<1>(info.param) == 0 ? "_cpu" : "_ref");
                         });

TEST_F(HfReference, ExportedDirectoriesComputeTheSameBitsHereAndInPyTorch) {
    for (const std::string name : kCases) {
        SCOPED_TRACE(name);
        const Expected expected(file(name, "expected.safetensors"));
        const auto sequences = steps_of(expected)[0];
        Engine engine(test::cpu_backend(1), open(name, "model"), context_of(expected));
        HfExport options{.path = file(name, "exported"),
                         .dtype = StorageType::f32,
                         .source = file(name, "model"),
                         .context = context_of(expected)};
        if (name.ends_with("4")) options.max_shard = {40'000};
        Faults faults;
        const Status written = export_weights(options, engine.config(), engine.weights(), faults);
        ASSERT_TRUE(written.ok()) << written.error().message;
        Engine again(test::cpu_backend(1), open(name, "exported"), context_of(expected));
        EXPECT_EQ(again.logits(sequences), engine.logits(sequences));
    }
    EXPECT_EQ(run_program("check", reference().dir.path()), 0);
}

}  // namespace
}  // namespace rm
