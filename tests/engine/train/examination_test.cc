// The suites and prompts of a job's evaluations.
#include <gmock/gmock.h>

#include "engine/evaluate/suite.h"
#include "engine/generate/generator.h"
#include "engine/generate/local_model.h"
#include "tests/engine/train/run_rank_fixture.h"

namespace rm {
namespace {

using test::checkpoint_bytes;
using test::TrainRun;
using testing::Contains;
using testing::HasSubstr;

// Few texts, also beyond the context of 128 tokens.
SuiteSpec small_suite() {
    return {.lengths = {120, 300}, .depths = 2, .samples = 1, .digits = 2};
}

class Examinations : public test::RunRank {
protected:
    Examinations() { config_.spec.evaluation.suites = {small_suite()}; }
    TrainRun train_well() {
        TrainRun run = train();
        EXPECT_TRUE(run.outcome.ok()) << run.outcome.error().message;
        EXPECT_TRUE(run.alarms.empty()) << run.alarms.front();
        return run;
    }
    void only_examine(const std::string& checkpoints) {
        config_.spec.stages[0].tokens = 0;
        config_.spec.evaluation.tokens = 0;
        config_.spec.checkpoint.from = dir_.file(checkpoints);
        config_.spec.data.sources.clear();
        config_.spec.stages[0].context = config_.spec.stages[0].batch = 384;  // fits each mesh
        config_.checkpoint_dir.clear();
    }
};

void expect_near(const SuiteReport& one, const SuiteReport& other, double tolerance) {
    ASSERT_EQ(one.cells.size(), other.cells.size());
    for (std::size_t i = 0; i < one.cells.size(); ++i) {
        EXPECT_EQ(one.cells[i].task, other.cells[i].task);
        EXPECT_EQ(one.cells[i].length, other.cells[i].length);
        EXPECT_EQ(one.cells[i].depth, other.cells[i].depth);
        EXPECT_EQ(one.cells[i].score, other.cells[i].score);
        EXPECT_NEAR(one.cells[i].loss, other.cells[i].loss, tolerance) << i;
    }
}

// The model of the newest checkpoint, examined on one rank as the command line does.
SuiteReport examined_alone(const std::string& path, const SuiteSpec& suite) {
    Activity activity;
    const auto model = LocalModel::open({.path = path}, activity);
    RM_CHECK(model.ok(), "{}", model.error().message);
    const MakeExaminer examiner = [&](std::int64_t tokens,
                                      std::int64_t new_tokens) -> Result<Examiner> {
        RM_RETURN_IF_ERROR((*model)->make_room(tokens, new_tokens));
        return model_examiner((*model)->engine(), (*model)->meeting(),
                              (*model)->tokenizer().end_of_document());
    };
    return run_suite({suite, (*model)->trained().context}, {examiner, (*model)->tokenizer()})
        .value();
}

TEST_F(Examinations, DoNotChangeTheTraining) {
    config_.spec.checkpoint.every_steps = 7;
    config_.spec.evaluation.every_steps = 5;
    config_.spec.evaluation.suites[0].every_steps = 5;
    config_.spec.evaluation.prompts = {{.prompt = "the ring ", .tokens = 3}};
    const TrainRun examined = train_well();
    ASSERT_EQ(examined.suites.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(examined.suites[i].step, 5 * (static_cast<std::int64_t>(i) + 1));
    const auto bytes = checkpoint_bytes(checkpoint("checkpoints", 20));

    config_.spec.evaluation.suites.clear();
    config_.spec.evaluation.prompts.clear();
    config_.checkpoint_dir = dir_.file("plain");
    const TrainRun plain = train_well();
    EXPECT_TRUE(plain.suites.empty());
    ASSERT_EQ(plain.steps.size(), examined.steps.size());
    for (std::size_t i = 0; i < plain.steps.size(); ++i)
        EXPECT_EQ(plain.steps[i].loss, examined.steps[i].loss) << i;
    EXPECT_EQ(plain.evaluations.back().loss, examined.evaluations.back().loss);
    for (const auto& [name, tensor] : checkpoint_bytes(checkpoint("plain", 20))) {
        if (name == "state") continue;
        EXPECT_EQ(tensor, bytes.at(name)) << name;
    }
}

// The scales of FP8 come from the steps before, and layers leave it for some steps.
TEST_F(Examinations, DoNotChangeTheScalesOfFp8) {
    config_.spec.precision = "fp8";
    config_.spec.model.preset = "mini";  // has layers between the first and the last
    config_.spec.stages[0].tokens = 10 * 256;
    for (const Fp8Recipe recipe :
         {Fp8Recipe::tensorwise, Fp8Recipe::delayed, Fp8Recipe::blockwise}) {
        config_.spec.fp8 = {.recipe = recipe, .fallback_steps = 4};
        config_.spec.fp8.max_flushed = 1e-9;
        config_.checkpoint_dir.clear();
        config_.spec.evaluation.suites = {small_suite()};
        config_.spec.evaluation.suites[0].every_steps = 3;
        const TrainRun examined = train();
        ASSERT_TRUE(examined.outcome.ok()) << examined.outcome.error().message;
        EXPECT_EQ(examined.suites.size(), 4u);
        config_.spec.evaluation.suites.clear();
        const TrainRun plain = train();
        ASSERT_EQ(plain.steps.size(), examined.steps.size());
        EXPECT_GT(plain.steps.back().fp8_fallbacks, 0);
        for (std::size_t i = 0; i < plain.steps.size(); ++i) {
            EXPECT_EQ(plain.steps[i].loss, examined.steps[i].loss) << i;
            EXPECT_EQ(plain.steps[i].fp8_fallbacks, examined.steps[i].fp8_fallbacks) << i;
        }
    }
}

TEST_F(Examinations, FindWhatTheCommandLineFinds) {
    config_.spec.stages[0].rope_theta = 700;
    config_.spec.evaluation.suites.push_back({.suite = SuiteKind::ruler,
                                              .name = "tasks",
                                              .lengths = {900},
                                              .samples = 1,
                                              .tasks = {"niah_single_1"}});
    const TrainRun run = train_well();
    ASSERT_EQ(run.suites.size(), 2u);
    EXPECT_EQ(run.suites[0].suite, "niah");
    EXPECT_EQ(run.suites[0].name, "niah");
    EXPECT_EQ(run.suites[0].step, 20);
    EXPECT_EQ(run.suites[0].trained_context, 128);
    EXPECT_GT(run.suites[0].seconds, 0);
    ASSERT_EQ(run.suites[0].cells.size(), 4u);
    EXPECT_GT(run.suites[0].cells[0].loss, 0.1);
    EXPECT_EQ(run.suites[1].suite, "ruler");
    EXPECT_EQ(run.suites[1].name, "tasks");
    for (std::size_t i = 0; i < 2; ++i) {
        const SuiteReport alone =
            examined_alone(dir_.file("checkpoints"), config_.spec.evaluation.suites[i]);
        expect_near(alone, run.suites[i], 1e-5);
        EXPECT_EQ(alone.trained_context, 128);
    }
}

TEST_F(Examinations, FindTheSameOnEveryMeshAndInWindows) {
    config_.spec.evaluation.suites[0].lengths = {128, 500};
    config_.spec.stages[0].tokens = 10 * 256;
    const SuiteReport expected = train_well().suites.at(0);
    only_examine("checkpoints");
    const auto examine = [&] {
        const TrainRun run = train_well();
        EXPECT_TRUE(run.steps.empty() && run.evaluations.empty());
        return run.suites.at(0);
    };
    expect_near(examine(), expected, 1e-6);
    for (const auto& [data, ring, ulysses, tensor] :
         {std::tuple{1, 1, 1, 1}, {2, 2, 1, 1}, {1, 1, 2, 2}, {1, 3, 1, 1}}) {
        config_.plan.mesh = Mesh::make(data, ring, ulysses, tensor).value();
        const SuiteReport other = examine();
        EXPECT_EQ(other.step, 0);
        expect_near(other, expected, 1e-5);
    }
    set_mesh(1, 2);
    config_.plan.zero = 3;
    expect_near(examine(), expected, 1e-5);
    config_.plan.zero = 0;
    config_.plan.memory.kept = KeptPlace::host;
    config_.plan.memory.working = WorkingSet::windows;
    expect_near(examine(), expected, 1e-5);
}

// The rank holds moments, gradients and an optimizer on the host meanwhile.
TEST_F(Examinations, WorkBesideEveryStateOfTraining) {
    config_.spec.stages[0].tokens = 4 * 256;
    config_.spec.evaluation.suites[0].every_steps = 2;
    const auto examines_twice = [&] {
        config_.checkpoint_dir.clear();
        EXPECT_EQ(train_well().suites.size(), 2u);
    };
    config_.spec.optimizer.place = OptimizerPlace::host;
    examines_twice();
    config_.plan.zero = 3;
    examines_twice();
    config_.spec.optimizer.place = OptimizerPlace::device;
    config_.spec.precision = "bf16";
    examines_twice();
}

// A machine that vanishes during the last suites costs them alone.
TEST_F(Examinations, OfTheEndAreMadeAgainWhereTheTrainingIsDone) {
    const SuiteReport first = train_well().suites.at(0);
    const TrainRun again = train_well();
    EXPECT_TRUE(again.steps.empty());
    ASSERT_EQ(again.suites.size(), 1u);
    EXPECT_EQ(again.suites[0].cells, first.cells);
    EXPECT_EQ(again.suites[0].step, 20);
}

TEST_F(Examinations, ContinuePromptsAsNotes) {
    config_.spec.evaluation = {.every_steps = 10, .tokens = 0};
    config_.spec.evaluation.prompts = {{.prompt = "the \"ring\" ", .tokens = 5},
                                       {.prompt = "a ", .tokens = 8, .temperature = 1}};
    const TrainRun run = train_well();
    std::vector<std::string> continued;
    for (const std::string& note : run.notes) {
        if (note.find("continues") != note.npos) continued.push_back(note);
    }
    ASSERT_EQ(continued.size(), 4u);
    EXPECT_TRUE(continued[0].starts_with(R"(step 10 continues "the \"ring\" " with ")"))
        << continued[0];
    EXPECT_TRUE(continued[3].starts_with(R"(step 20 continues "a " with ")")) << continued[3];
}

TEST_F(Examinations, ThatHaveNoRoomAreRefusedBeforeTheFirstStep) {
    config_.spec.evaluation.suites[0].lengths = {1 << 20};
    config_.plan.memory.device = Bytes{4 << 20};
    config_.plan.memory.host = Bytes{8 << 20};
    const TrainRun run = train();
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_EQ(run.outcome.error().code, ErrorCode::resource_exhausted);
    EXPECT_THAT(run.outcome.error().message, HasSubstr("evaluate: "));
    EXPECT_TRUE(run.steps.empty());
}

// Hours of training are not lost to a suite that cannot be.
TEST_F(Examinations, ThatCannotBeAreAlarmsOfATraining) {
    config_.spec.evaluation.suites[0].lengths = {20};
    const TrainRun run = train();
    EXPECT_TRUE(run.outcome.ok());
    EXPECT_TRUE(run.suites.empty());
    EXPECT_THAT(run.alarms, Contains(HasSubstr("left out: evaluate.suites[0]: niah: a text of 20 "
                                               "tokens has no room")));
    only_examine("checkpoints");
    EXPECT_THAT(train().outcome.error().message, HasSubstr("a text of 20 tokens has no room"));
}

}  // namespace
}  // namespace rm
