#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

#include "cli/verb.h"
#include "tests/support/temp_dir.h"

// `plan` from the job file to its table, with the real search.
namespace rm::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kJob =
    "name: long\nmodel: {preset: llama3-8b}\ndata: {path: /data}\nprecision: bf16\n"
    "parallel: {ring: 4, ulysses: 2, zero: 3}\n"
    "stages: [{context: 64K, batch: 64K, tokens: 64M}]\n";

struct Plan : testing::Test {
    TempDir directory;
    std::ostringstream out, err;
    std::istringstream in;
    std::string job = directory.file("job.yaml");

    Result<ExitCode> run(const std::vector<std::string>& arguments) {
        for (const VerbGroup& group : verb_table()) {
            for (const Verb& verb : group.verbs) {
                if (verb.name == "plan") return run(verb, arguments);
            }
        }
        return ExitCode::error;
    }
    Plan() { std::ofstream(job) << kJob; }

private:
    Result<ExitCode> run(const Verb& verb, const std::vector<std::string>& arguments) {
        const auto command = verb.make();
        for (std::size_t i = 0; i < arguments.size(); i += 2) {
            for (const VerbOption& option : command->options().list()) {
                if (option.names != arguments[i]) continue;
                if (auto* const* text = std::get_if<std::string*>(&option.value))
                    **text = arguments[i + 1];
                if (auto* const* list = std::get_if<std::vector<std::string>*>(&option.value))
                    (*list)->push_back(arguments[i + 1]);
                if (auto* const* format = std::get_if<OutputFormat*>(&option.value))
                    **format = OutputFormat::json;
                if (auto* const* flag = std::get_if<bool*>(&option.value)) **flag = true;
            }
        }
        Console console{{out, false, false, 200}, {err}, {in}};
        const SystemClock clock;
        VerbContext context{console, clock, {}};
        return command->run(context);
    }
};

TEST_F(Plan, RanksTheJobsMeshAndSaysWhatItTakes) {
    std::ofstream(directory.file("fleet.yaml"))
        << "device: L40S\nnodes: 1\ndevices_per_node: 8\nnode_memory: 1TiB\n"
           "inside: {gbit_per_s: 176}\n"
           "price: {per_device_hour: 2, currency: EUR, date: 2026-11-01}\n"
           "power: {device_watts: 300}\n";
    EXPECT_EQ(run({"FILE", job, "--fleet", directory.file("fleet.yaml")}).value(), ExitCode::ok)
        << err.str();
    EXPECT_THAT(out.str(), HasSubstr("llama3-8b, 64K tokens, 1 sequence a step, on 8 of 8 L40S"));
    EXPECT_THAT(out.str(), HasSubstr("ring 4 x ulysses 2, ZeRO 3"));
    EXPECT_THAT(out.str(), HasSubstr("EUR/MTOK"));
    EXPECT_THAT(out.str(), HasSubstr("(2 EUR per device and hour, 2026-11-01)"));
    EXPECT_THAT(out.str(), HasSubstr("kWh"));
}

TEST_F(Plan, AsJsonHasTheSameNumbersForPrograms) {
    EXPECT_EQ(run({"FILE", job, "--on", "L40S*8", "-o,--output", "json"}).value(), ExitCode::ok);
    const auto json = nlohmann::json::parse(out.str());
    ASSERT_EQ(json.at("plans").size(), 1u);
    const auto& plan = json.at("plans")[0];
    EXPECT_EQ(plan.at("parallel").at("ring"), 4);
    EXPECT_GT(plan.at("step_seconds").get<double>(), 0);
    EXPECT_NEAR(plan.at("seconds").get<double>(), 977 * plan.at("step_seconds").get<double>(),
                1e-6 * plan.at("seconds").get<double>());
    EXPECT_LE(plan.at("device_bytes").get<double>(), 48e9);
    EXPECT_THAT(json.at("figures").get<std::string>(), HasSubstr("data sheet"));
}

// An L40S has 362 TFLOP/s in bf16 and 733 in FP8.
TEST_F(Plan, StatesTheMfuOfBothPeaksOfAJobInFp8) {
    EXPECT_EQ(run({"FILE", job, "--on", "L40S*8"}).value(), ExitCode::ok);
    EXPECT_THAT(out.str(), Not(HasSubstr("FP8 MFU")));
    out.str("");
    EXPECT_EQ(run({"FILE", job, "--on", "L40S*8", "--set", "precision=fp8"}).value(), ExitCode::ok);
    EXPECT_THAT(out.str(), HasSubstr("MFU  FP8 MFU"));
    out.str("");
    EXPECT_EQ(run({"FILE", job, "--on", "L40S*8", "--set", "precision=fp8", "-o,--output", "json"})
                  .value(),
              ExitCode::ok);
    const auto plan = nlohmann::json::parse(out.str()).at("plans")[0];
    EXPECT_NEAR(plan.at("causal_mfu").get<double>() / plan.at("fp8_mfu").get<double>(), 733.0 / 362,
                0.01);
}

TEST_F(Plan, WhatDoesNotFitIsRejectedWithAChangeThatDoes) {
    const auto code = run({"FILE", job, "--on", "L40S*8", "--set", "memory.offload=off", "--set",
                           "memory.alpha=1", "--set", "memory.keep_every=1", "--set",
                           "stages.0.context=512K", "--set", "stages.0.batch=512K"});
    EXPECT_EQ(code.value(), ExitCode::rejected) << out.str();
    EXPECT_THAT(out.str(), HasSubstr("no plan fits"));
    EXPECT_THAT(out.str(), HasSubstr("more than 44.7 GiB"));
    EXPECT_THAT(out.str(), HasSubstr("it fits with memory: "));
}

TEST_F(Plan, MachinesAreNeededAndEnoughOfThem) {
    EXPECT_EQ(run({"FILE", job, "--cheapest", ""}).value(), ExitCode::usage);
    EXPECT_THAT(err.str(), HasSubstr("--fleet FILE, or --on KIND*N"));
    const auto code = run({"FILE", job, "--on", "L40S*4"});
    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.error().message, "the job needs 8 devices; the fleet has 4");
}

TEST_F(Plan, OneQuestionAtATime) {
    const auto code =
        run({"FILE", job, "--on", "L40S*4", "--fewest-devices", "", "--cheapest", ""});
    EXPECT_EQ(code.value(), ExitCode::usage);
    EXPECT_THAT(err.str(), HasSubstr("exclude each other; keep one"));
    const auto others =
        run({"FILE", job, "--on", "L40S*4", "--fastest", "", "--longest-context", ""});
    EXPECT_EQ(others.value(), ExitCode::usage);
}

TEST_F(Plan, TheFastestNumberOfDevicesIsComparedWithTheNextSmaller) {
    const std::vector<std::string> arguments = {"FILE",      job,
                                                "--on",      "L40S*8",
                                                "--set",     "parallel=auto",
                                                "--set",     "model={preset: tiny}",
                                                "--fastest", ""};
    EXPECT_EQ(run(arguments).value(), ExitCode::ok) << err.str();
    EXPECT_THAT(out.str(),
                testing::ContainsRegex(
                    "fastest on [248] devices: [1-9][.0-9]* times as fast as on [124]\n"));
    out.str("");
    std::vector<std::string> for_programs = arguments;
    for_programs.insert(for_programs.end(), {"-o,--output", "json"});
    EXPECT_EQ(run(for_programs).value(), ExitCode::ok) << err.str();
    const auto json = nlohmann::json::parse(out.str());
    EXPECT_EQ(json.at("devices"), 2 * json.at("speed_up").at("over_devices").get<int>());
    EXPECT_GT(json.at("speed_up").at("times").get<double>(), 1);
}

TEST_F(Plan, MeshesToCompareNeedAsManyDevicesAsThereAre) {
    const auto message = [&](const std::vector<std::string>& meshes) {
        std::vector<std::string> arguments = {"FILE",   job,     "--on",
                                              "L40S*8", "--set", "parallel=auto"};
        for (const std::string& mesh : meshes)
            arguments.insert(arguments.end(), {"--compare", mesh});
        const auto code = run(arguments);
        return code ? std::string("exit code") : code.error().message;
    };
    EXPECT_EQ(message({"ring=32"}), "--compare ring=32 needs 32 devices; the fleet has 8");
    EXPECT_EQ(message({"ring=8", "ring=4"}), "ring 4 has 4 ranks, and the plan is of 8 devices");
    EXPECT_EQ(message({"ring=8", "ring=4,ulysses=2"}), "exit code");
}

}  // namespace
}  // namespace rm::test
