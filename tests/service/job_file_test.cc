#include "service/job_file/job_file.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

constexpr std::string_view kWhole = R"(name: whole
model: {preset: micro}
data: {path: [/data/books@0.7, /data/code@0.3], format: text, tokenizer: /t.json, holdout: 0.1,
       documents: separate, positions: running}
seed: 18446744073709551615
stages:
  - {context: 8K, batch: 64K, tokens: 1M, rope_theta: 15.3e6, learning_rate: 2e-5,
     warmup: 1 step, schedule: cosine, final_learning_rate: 1e-6}
  - context: 16384
    batch: 0.25M
    tokens: 2.5M
parallel: {data: 2, ring: 4, inner_ring: 2, ulysses: 2, tensor: 2, zero: 3}
memory: {tile: 128, chunk: 1K, keep: input, alpha: 0.3, offload: on, windows: off, keep_every: 4,
         keep_precision: fp8, prefetch: 2, arena: separate, device: 40GiB, host: 1.5TiB}
precision: fp8
fp8: {recipe: delayed, gradients: e4m3, bf16_layers: 0, fallback_steps: 0, max_saturated: 0.02,
      max_flushed: 0.25}
attention: 8bit
messages: {ulysses: fp8, tensor: fp8}
optimizer: {beta1: 0.8, beta2: 0.9, eps: 1e-9, weight_decay: 0, clip_norm: 0.5,
            place: device, moments: bf16, gradients: bf16, max_skipped: 3}
resources: {devices: 32, kind: cpu}
checkpoint: {dir: /ckpt, every: 10 steps, keep: 3}
evaluate: {every: 20 steps, tokens: 64K}
export: {huggingface: /out}
)";

constexpr std::string_view kPlaced = R"(name: placed
model: {preset: tiny}
data: {path: books}
stages: [{context: 1K, batch: 2K, tokens: 1M}]
parallel: {ring: 3}
resources: {placement: [n3, n0:1, "n1:0"]}
)";

constexpr std::string_view kLeast = R"(name: least
model: {preset: tiny}
data: {path: books}
stages: [{context: 1K, batch: 2K, tokens: 1M}]
)";

// kLeast with one more line, or with its line `number` (from 1) replaced.
JobSpec parse_job(const std::string& text) {
    return parse_job_file(text, "job.yaml").value();
}

std::string with(std::string_view line) {
    return std::string(kLeast) + std::string(line) + "\n";
}
std::string with_line(int number, std::string_view line) {
    std::string text(kLeast);
    std::size_t begin = 0;
    for (int i = 1; i < number; ++i)
        begin = text.find('\n', begin) + 1;
    return text.replace(begin, text.find('\n', begin) - begin, line);
}

std::string error_of(std::string_view text) {
    const auto parsed = parse_job_file(text, "job.yaml");
    if (parsed) return "no error";
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
    return parsed.error().message;
}

TEST(JobFile, ReadsEveryKey) {
    const auto spec = parse_job_file(kWhole, "job.yaml");
    ASSERT_TRUE(spec) << spec.error().message;
    const JobSpec wanted{.name = "whole",
                         .model = {.preset = "micro"},
                         .data = {.sources = {{"/data/books", 0.7}, {"/data/code", 0.3}},
                                  .format = "text",
                                  .tokenizer = "/t.json",
                                  .holdout = 0.1,
                                  .documents = Documents::separate,
                                  .positions = Positions::running},
                         .seed = 18446744073709551615u,
                         .stages = {{.context = 8192,
                                     .batch = 65536,
                                     .tokens = 1'000'000,
                                     .rope_theta = 15.3e6,
                                     .learning_rate = 2e-5,
                                     .warmup_steps = 1,
                                     .schedule = Schedule::cosine,
                                     .final_learning_rate = 1e-6},
                                    {.context = 16384, .batch = 262144, .tokens = 2'500'000}},
                         .parallel = Mesh::make(2, 4, 2, 2, 2).value(),
                         .zero = 3,
                         .memory = {.tile = 128,
                                    .chunk = 1024,
                                    .keep = Keep::input,
                                    .alpha = 0.3,
                                    .offload = Switch::on,
                                    .windows = Switch::off,
                                    .keep_every = 4,
                                    .keep_precision = KeptPrecision::fp8,
                                    .prefetch = 2,
                                    .arena = ArenaReuse::off,
                                    .device = Bytes{std::int64_t{40} << 30},
                                    .host = Bytes{std::int64_t{1536} << 30}},
                         .precision = "fp8",
                         .fp8 = {.recipe = Fp8Recipe::delayed,
                                 .gradients = Fp8Gradients::e4m3,
                                 .bf16_layers = 0,
                                 .fallback_steps = 0,
                                 .max_saturated = 0.02,
                                 .max_flushed = 0.25},
                         .attention = AttentionNumbers::eight_bit,
                         .messages = {MessageNumbers::fp8, MessageNumbers::fp8},
                         .optimizer = {.beta1 = 0.8,
                                       .beta2 = 0.9,
                                       .eps = 1e-9,
                                       .weight_decay = 0,
                                       .clip_norm = 0.5,
                                       .moments = "bf16",
                                       .gradients = "bf16",
                                       .max_skipped = 3},
                         .resources = {.devices = 32, .kind = "cpu"},
                         .checkpoint = {.dir = "/ckpt", .every_steps = 10, .keep = 3, .every = {}},
                         .evaluation = {.every_steps = 20, .tokens = 64000},
                         .exports = {.huggingface = "/out"}};
    EXPECT_EQ(*spec, wanted);
}

TEST(JobFile, ReadsTheDeviceOfEachRank) {
    const auto spec = parse_job_file(kPlaced, "job.yaml");
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->resources.placement,
              (std::vector<DeviceId>{{{"n3"}, 0}, {{"n0"}, 1}, {{"n1"}, 0}}));
    EXPECT_EQ(error_of(with("resources: {placement: [n0:x]}")),
              "job.yaml:5:25: resources.placement[0]: 'n0:x' is not a device; NODE or NODE:NUMBER");
    EXPECT_EQ(
        error_of(with("resources: {placement: [n0, n1, n0:0]}")),
        "job.yaml:5:33: resources.placement[2]: device n0:0 is there twice, for ranks 0 and 2");
    EXPECT_EQ(error_of(with("parallel: {ring: 2}\nresources: {placement: [n0, n1, n2]}")),
              "job.yaml:6:24: resources.placement: 3 devices for 2 ranks; give one for each rank");
}

TEST(JobFile, LeavesWhatIsNotGivenAtItsDefault) {
    const auto spec = parse_job_file(kLeast, "job.yaml");
    ASSERT_TRUE(spec) << spec.error().message;
    JobSpec wanted{.name = "least", .model = {.preset = "tiny"}};
    wanted.data.sources = {{"books"}};
    wanted.stages = {{.context = 1024, .batch = 2048, .tokens = 1'000'000}};
    EXPECT_EQ(*spec, wanted);
    EXPECT_EQ(*parse_job_file(with("parallel: auto\nmemory: auto"), "job.yaml"), wanted);
    EXPECT_EQ(*parse_job_file(with("memory: {chunk: auto, keep: auto, alpha: auto, offload: auto, "
                                   "windows: auto, prefetch: 1, arena: reuse}"),
                              "job.yaml"),
              wanted);
}

TEST(JobFile, ZeroAloneLeavesTheMeshAutomatic) {
    const auto spec = parse_job_file(with("parallel: {zero: 3}"), "job.yaml");
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_FALSE(spec->parallel);
    EXPECT_EQ(spec->zero, 3);
    const auto meshed = parse_job_file(with("parallel: {zero: 2, tensor: 2}"), "job.yaml");
    ASSERT_TRUE(meshed) << meshed.error().message;
    EXPECT_EQ(meshed->parallel, Mesh::make(1, 1, 1, 2).value());
    EXPECT_EQ(meshed->zero, 2);
}

TEST(JobFile, NamesTheRightWordsForWhatItDoesNotKnow) {
    EXPECT_EQ(error_of(with("parallel: {ring: 2, zero: 4}")),
              "job.yaml:5:27: parallel.zero: 4 must be 0, 1, 2 or 3");
    EXPECT_EQ(error_of(with("parallel: {inner: 2}")),
              "job.yaml:5:12: parallel.inner: unknown key (known here: data, "
              "ring, inner_ring, ulysses, tensor, zero)");
    EXPECT_EQ(error_of(with("parallel: {ring: 6, inner_ring: 4}")).substr(0, 36),
              "job.yaml:5:33: parallel.inner_ring: ");
    EXPECT_EQ(error_of(with("parallel: {tensor: 2}\nmemory: {tile: 64}")), "no error");
    EXPECT_EQ(error_of(with_line(3, "data: {path: x, documents: packed}")),
              "job.yaml:3:28: data.documents: documents 'packed' is not known; joined or separate");
    EXPECT_EQ(error_of(with_line(3, "data: {path: x, documents: separate, positions: zero}")),
              "job.yaml:3:49: data.positions: positions 'zero' is not known; reset or running");
    EXPECT_EQ(error_of(with("optimizer: {max_skipped: 0}")),
              "job.yaml:5:26: optimizer.max_skipped: 0 must be 1 or more");
    EXPECT_EQ(error_of(with("optimizer: {moments: fp16}")),
              "job.yaml:5:22: optimizer.moments: 'fp16' is not known; fp32 or bf16");
    EXPECT_EQ(error_of(with("optimizer: {place: disk}")),
              "job.yaml:5:20: optimizer.place: place 'disk' is not known; device or host");
}

TEST(JobFile, PositionsAreOfSeparateDocuments) {
    EXPECT_EQ(error_of(with_line(3, "data: {path: x, positions: reset}")),
              "job.yaml:3:17: data.positions: is of separate documents, and these are joined; add "
              "documents: separate or remove the key");
}

TEST(JobFile, TakesRelativePathsFromTheBaseDirectory) {
    const std::string text = with("checkpoint: {dir: ../ckpt}\nexport: {huggingface: out}");
    const auto spec = parse_job_file(text, "job.yaml", "/home/me/jobs");
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->data.sources.front().path, "/home/me/jobs/books");
    EXPECT_EQ(spec->checkpoint.dir, "/home/me/ckpt");
    EXPECT_EQ(spec->exports.huggingface, "/home/me/jobs/out");
    const auto absolute =
        parse_job_file(with_line(3, "data: {path: /x/y}"), "job.yaml", "/home/me");
    EXPECT_EQ(absolute->data.sources.front().path, "/x/y");
}

TEST(JobFile, NamesAnUnknownKeyAndTheLikelyOne) {
    EXPECT_EQ(error_of(with("evalute: {}")).substr(0, 75),
              "job.yaml:5:1: evalute: unknown key; did you mean 'evaluate'? (known here: n");
    EXPECT_EQ(error_of(with_line(4, "stages: [{contxt: 1K, batch: 2K, tokens: 1M}]")),
              "job.yaml:4:11: stages[0].contxt: unknown key; did you mean 'context'? (known here: "
              "context, batch, tokens, rope_theta, learning_rate, warmup, schedule, "
              "final_learning_rate, rope, rope_factor, optimizer)");
    EXPECT_EQ(
        error_of(with_line(2, "model: {presets: tiny}")),
        "job.yaml:2:9: model.presets: unknown key; did you mean 'preset'? (known here: preset, "
        "from)");
}

TEST(JobFile, RefusesDuplicateKeys) {
    EXPECT_EQ(error_of(with("seed: 1\nseed: 1")),
              "job.yaml:6:1: seed: the key is already given at line 5, column 1; keep one");
}

TEST(JobFile, SaysWhatIsWrongWithPrecisionAtItsPlace) {
    EXPECT_EQ(error_of(with("precision: fp16")),
              "job.yaml:5:12: precision: 'fp16' is not known; fp32, bf16 or fp8");
    EXPECT_EQ(error_of(with("messages: {ulysses: int8}")),
              "job.yaml:5:21: messages.ulysses: numbers 'int8' is not known; compute or fp8");
    EXPECT_EQ(error_of(with("fp8: {gradients: e3m4}")),
              "job.yaml:5:18: fp8.gradients: gradients 'e3m4' is not known; e5m2 or e4m3");
}

TEST(JobFile, SaysWhatIsWrongWithMemoryAtItsPlace) {
    EXPECT_EQ(error_of(with("memory: {chunk: 1K, offload: host}")),
              "job.yaml:5:30: memory.offload: switch 'host' is not known; auto, on or off");
    EXPECT_EQ(error_of(with("memory: {windows: true}")),
              "job.yaml:5:19: memory.windows: switch 'true' is not known; auto, on or off");
    EXPECT_EQ(error_of(with("memory: {keep: attention}")),
              "job.yaml:5:16: memory.keep: keep 'attention' is not known; auto, input or "
              "input+attention");
    EXPECT_EQ(error_of(with("memory: {arena: auto}")),
              "job.yaml:5:17: memory.arena: arena 'auto' is not known; reuse or separate");
    EXPECT_EQ(error_of(with("memory: {alpha: most}")),
              "job.yaml:5:17: memory.alpha: 'most' must be a number such as 0.1 or 2e-5");
    EXPECT_EQ(error_of(with("memory: {prefetch: 1.5}")),
              "job.yaml:5:20: memory.prefetch: '1.5' must be a whole number");
    EXPECT_EQ(error_of(with("memory: {device: 40G}")),
              "job.yaml:5:18: memory.device: '40G' is not a size; write a number with B, KiB, MiB, "
              "GiB or TiB, such as 40GiB");
    EXPECT_EQ(error_of(with("memory: {host: [1GiB]}")),
              "job.yaml:5:16: memory.host: a list; it must be a size such as 40GiB");
    EXPECT_EQ(error_of(with("memory:\n  alpha: 0.5\n  alpha: 0.5")),
              "job.yaml:7:3: alpha: the key is already given at line 6, column 3; keep one");
    EXPECT_EQ(
        error_of(with("memory: {window: on}")),
        "job.yaml:5:10: memory.window: unknown key; did you mean 'windows'? (known here: tile, "
        "chunk, keep, alpha, offload, windows, keep_every, keep_precision, prefetch, arena, "
        "device, "
        "host)");
}

TEST(JobFile, HoldsMemoryToItsRanges) {
    EXPECT_EQ(error_of(with("memory: {alpha: 1.2}")),
              "job.yaml:5:17: memory.alpha: 1.2 must be between 0 and 1, or auto");
    EXPECT_EQ(error_of(with("memory: {keep_every: 65}")),
              "job.yaml:5:22: memory.keep_every: 65 layers; must be 1 to 64");
    EXPECT_EQ(error_of(with("memory: {prefetch: 9}")),
              "job.yaml:5:20: memory.prefetch: 9 chunks; must be 0 to 4");
    EXPECT_EQ(error_of(with("memory: {tile: 64, host: 0GiB}")),
              "job.yaml:5:26: memory.host: 0B must be a positive size such as 40GiB; without the "
              "key there is no limit");
    EXPECT_EQ(error_of(with("memory: {offload: off, windows: on}")),
              "job.yaml:5:33: memory.windows: on needs what is kept on the host, and "
              "memory.offload is off; set it to on or auto");
    EXPECT_EQ(error_of(with("parallel: {ring: 2}\nmemory: {windows: on}")), "no error");
}

TEST(JobFile, AModelIsAPresetOrADirectory) {
    const auto spec = parse_job_file(with_line(2, "model: {from: llama}"), "job.yaml", "/m");
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->model.from, "/m/llama");
    EXPECT_EQ(error_of(with_line(2, "model: {from: /llama, preset: tiny}")).substr(0, 53),
              "job.yaml:2:8: model: both preset and from are; either");
    EXPECT_EQ(error_of(with_line(2, "model: {}")).substr(0, 59),
              "job.yaml:2:8: model: neither preset nor from is given; eith");
}

TEST(JobFile, SourcesMayHaveProportions) {
    EXPECT_EQ(error_of(with_line(3, "data: {path: [a@0.5, b@0]}")),
              "job.yaml:3:22: data.path[1]: 'b@0': a proportion of 0; it must be positive");
    EXPECT_EQ(error_of(with_line(3, "data: {path: [a@0.5, b]}")),
              "job.yaml:3:14: data.path: 1 of 2 sources have a proportion; all or none");
    const auto spec = parse_job_file(with_line(3, "data: {path: me@home}"), "job.yaml");
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->data.sources, (std::vector<DataSource>{{"me@home", 0}}));
}

TEST(JobFile, CheckpointsComeByStepsByTimeOrNever) {
    const auto every = [](std::string_view text) {
        return parse_job_file(with(format("checkpoint: {{every: {}}}", text)), "job.yaml")
            ->checkpoint;
    };
    EXPECT_EQ(CheckpointSpec().every, Seconds{600}) << "by default";
    EXPECT_EQ(every("10 minutes"), CheckpointSpec{});
    EXPECT_EQ(every("1.5 h"), CheckpointSpec{.every = Seconds{5400}});
    EXPECT_EQ(every("1 hour"), CheckpointSpec{.every = Seconds{3600}});
    EXPECT_EQ(every("50 steps"), (CheckpointSpec{.every_steps = 50, .every = Seconds{0}}));
    EXPECT_EQ(every("never"), CheckpointSpec{.every = Seconds{0}});
}

TEST(JobFile, HasSuitesAndPromptsOfAnEvaluation) {
    const JobSpec spec =
        parse_job(with("evaluate:\n"
                       "  every: 500 steps\n"
                       "  suites:\n"
                       "    - {lengths: [4K, 1000], depths: 3, every: 1000 steps}\n"
                       "    - {suite: ruler, name: tasks, tasks: [vt, cwe]}\n"
                       "  prompts: [{prompt: 'Once', temperature: 0.5}]"));
    const std::vector<SuiteSpec> expected = {
        {.every_steps = 1000, .lengths = {4096, 1000}, .depths = 3},
        {.suite = SuiteKind::ruler, .name = "tasks", .tasks = {"vt", "cwe"}}};
    EXPECT_EQ(spec.evaluation.suites, expected);
    EXPECT_EQ(spec.evaluation.prompts,
              (std::vector<PromptSpec>{{.prompt = "Once", .temperature = 0.5}}));
    EXPECT_EQ(error_of(with("evaluate: {suites: [{depths: 3}, {suite: niah}]}")),
              "job.yaml:5:34: evaluate.suites[1].name: 'niah' is there twice; name one of them");
    EXPECT_EQ(
        error_of(with("evaluate: {suites: [{suite: needles}]}")),
        "job.yaml:5:29: evaluate.suites[0].suite: suite 'needles' is not known; niah or ruler");
    EXPECT_EQ(
        error_of(with("evaluate: {suites: [{lengths: [4K, many]}]}")),
        "job.yaml:5:36: evaluate.suites[0].lengths[1]: 'many' is not a token count; write a whole "
        "number such as 8192, 64K or 2M (K, M are 2^10, 2^20 here)");
}

TEST(JobFile, HasARotaryBaseForTheContext) {
    const JobSpec spec = parse_job(
        with_line(4,
                  "stages: [{context: 1K, batch: 1K, tokens: 1M, rope_theta: auto, rope: yarn, "
                  "rope_factor: 4, optimizer: anew}]"));
    EXPECT_EQ(spec.stages[0].rope_theta, kAutoTheta);
    EXPECT_EQ(spec.stages[0].rope, StageRope::yarn);
    EXPECT_EQ(spec.stages[0].rope_factor, 4);
    EXPECT_EQ(spec.stages[0].optimizer, StageOptimizer::anew);
    const auto with_theta = [](const std::string& theta) {
        return error_of(with_line(
            4, "stages: [{context: 1K, batch: 1K, tokens: 1M, rope_theta: " + theta + "}]"));
    };
    EXPECT_EQ(with_theta("-1"), "job.yaml:4:59: stages[0].rope_theta: -1; write auto");
    EXPECT_EQ(with_theta("0.5"),
              "job.yaml:4:59: stages[0].rope_theta: 0.5 must be above 1, or auto");
}

TEST(JobFile, SaysWhichKeyIsMissing) {
    EXPECT_EQ(error_of(""), "job.yaml:1:1: expected a mapping (`name: ...`)");
    EXPECT_EQ(error_of("name: x\n"),
              "job.yaml:1:1: required key 'model' is missing\n"
              "job.yaml:1:1: required key 'stages' is missing");
    EXPECT_EQ(error_of("name: x\nmodel: {preset: micro}\n"
                       "stages: [{context: 1K, batch: 1K, tokens: 1M}]\n"),
              "job.yaml:1:1: data.path: missing; a directory or a file");
    EXPECT_EQ(error_of(with_line(4, "stages:\n  - {context: 1K, tokens: 1M}")),
              "job.yaml:5:5: required key 'batch' is missing in stages[0]");
    EXPECT_EQ(error_of(with_line(4, "stages: []")),
              "job.yaml:4:9: stages: expected a list of one or more items");
    EXPECT_EQ(error_of(with_line(1, "name:")), "job.yaml:1:1: name: no value; it must be a text");
}

TEST(JobFile, SaysWhatAValueMustBe) {
    EXPECT_EQ(error_of(with("seed: -1")),
              "job.yaml:5:7: seed: '-1' must be a whole number from 0 to 2^64 - 1");
    EXPECT_EQ(error_of(with("optimizer: {eps: small}")),
              "job.yaml:5:18: optimizer.eps: 'small' must be a number such as 0.1 or 2e-5");
    EXPECT_EQ(error_of(with("optimizer: {eps: inf}")),
              "job.yaml:5:18: optimizer.eps: 'inf' must be finite");
    EXPECT_EQ(error_of(with("checkpoint: {every: 10}")),
              "job.yaml:5:21: checkpoint.every: '10' must be steps such as '10 steps', a time such "
              "as '10 min', or never");
    EXPECT_EQ(error_of(with("checkpoint: {every: -3 steps}")),
              "job.yaml:5:21: checkpoint.every: '-3 steps' must be a number of steps such as '10 "
              "steps'");
    EXPECT_EQ(error_of(with("checkpoint: {keep: [1]}")),
              "job.yaml:5:20: checkpoint.keep: a list; it must be a whole number");
    EXPECT_EQ(error_of(with("precision: {a: b}")),
              "job.yaml:5:12: precision: a map; it must be a text");
    EXPECT_EQ(error_of(with("parallel: 4")),
              "job.yaml:5:11: parallel: must be auto or a map such as {ring: 4, data: 1}");
    EXPECT_EQ(error_of(with("memory: all")),
              "job.yaml:5:9: memory: must be auto or a map such as {chunk: 4096}");
    EXPECT_EQ(error_of(with_line(2, "model: tiny")),
              "job.yaml:2:8: model: expected a mapping (`preset: ...`)");
    EXPECT_EQ(
        error_of(with_line(4, "stages: [{context: 1Q, batch: 2K, tokens: 1M}]")).substr(0, 37),
        "job.yaml:4:20: stages[0].context: '1Q");
    EXPECT_EQ(
        error_of(with_line(4, "stages: [{context: 1K, batch: 2K, tokens: 1M, schedule: cosin}]")),
        "job.yaml:4:57: stages[0].schedule: schedule 'cosin' is not known; constant, cosine "
        "or linear");
}

TEST(JobFile, PutsThePlaceBeforeWhatValidationSays) {
    EXPECT_EQ(error_of(with_line(4, "stages:\n  - {context: 1K, batch: 1500, tokens: 1M}")),
              "job.yaml:5:26: stages[0].batch: 1500 is not a multiple of the context 1024; the "
              "nearest: 1024 or 2048");
    EXPECT_EQ(error_of(with_line(1, "name: a b")).substr(0, 25), "job.yaml:1:7: name: 'a b'");
    EXPECT_EQ(error_of(with_line(2, "model: {preset: huge}")).substr(0, 37),
              "job.yaml:2:17: model.preset: 'huge' i");
    EXPECT_EQ(error_of(with("parallel: {ring: 0}")),
              "job.yaml:5:18: parallel.ring: 0 must be 1 or more");
    // A value that is not in the file takes the place of its deepest map in the file.
    EXPECT_EQ(error_of(with("parallel: {ring: 4}\nresources: {devices: 3}")).substr(0, 15),
              "job.yaml:6:22: ");
}

TEST(JobFile, ContextTooShortForTheMeshIsAnError) {
    const std::string message = error_of(
        "name: x\nmodel: {preset: tiny}\ndata: {path: x}\nparallel: {ring: 64}\n"
        "stages: [{context: 16, batch: 1K, tokens: 1M}]\n");
    EXPECT_EQ(message.substr(0, 24), "job.yaml:5:20: stages[0]") << message;
}

TEST(JobFile, AnAbsurdMeshIsAnErrorAndNotAnOverflow) {
    const std::string message = error_of(with("parallel: {data: 2000000000, ring: 2000000000}"));
    EXPECT_EQ(message.substr(0, 15), "job.yaml:5:11: ") << message;
}

}  // namespace
}  // namespace rm
