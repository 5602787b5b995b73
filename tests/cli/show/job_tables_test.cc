#include "cli/show/job_tables.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/show/describe_job.h"
#include "tests/cli/show/sample_job.h"

namespace rm {
namespace {

std::string print(const Table& table) {
    std::ostringstream out;
    table.print({out});
    return out.str();
}

TEST(JobsTable, ShowsTheColumnsOfLs) {
    const std::vector<pb::Job> jobs = {running_job(3), pending_job(),
                                       ended_job(pb::JOB_STATE_SUCCEEDED)};
    EXPECT_EQ(
        print(jobs_table(jobs, Detail::usual, after_submission(192))),
        "ID      NAME  STATE      CTX  STEP    LOSS    MFU  TOK/S  DEVICES  ETA   TOOK    AGE\n"
        "a1b2c3  demo  running     8K   3/8  2.8113  46.1%   4.1k        2  18s      -  3m12s\n"
        "a1b2c3  demo  pending     8K   0/8       -      -      -        -    -      -  3m12s\n"
        "a1b2c3  demo  succeeded  16K   8/8  2.8113  46.1%      -        2    -  1m05s  3m12s\n");
}

TEST(JobsTable, ShowsNoDevicesOrSpeedOfAJobThatWaitsForItsNextAttempt) {
    pb::Job job = running_job(3);
    job.set_state(pb::JOB_STATE_PENDING);
    pb::Attempt& stopped = *job.mutable_attempts(0);
    stopped.set_state(pb::ATTEMPT_STATE_CANCELLED);
    *stopped.mutable_ended() = to_proto(after_submission(65));
    EXPECT_EQ(print(jobs_table({job}, Detail::usual, after_submission(192))),
              "ID      NAME  STATE    CTX  STEP    LOSS  MFU  TOK/S  DEVICES  ETA  TOOK    AGE\n"
              "a1b2c3  demo  pending   8K   3/8  2.8113    -      -        -    -     -  3m12s\n");
}

TEST(JobsTable, AddsOwnerStageMeshAndPeakWhenWide) {
    const std::string text = print(jobs_table({running_job(6)}, Detail::wide, after_submission(1)));
    EXPECT_NE(text.find("OWNER"), std::string::npos);
    EXPECT_NE(text.find("2/2"), std::string::npos);
    EXPECT_NE(text.find("ring 2"), std::string::npos);
    EXPECT_NE(text.find("fp32 112 GFLOP/s measured"), std::string::npos);
    EXPECT_NE(text.find("2026-01-02T03:04:05Z"), std::string::npos);
}

TEST(HistoryTable, ShowsEveryAttemptWithItsCauseOfDeath) {
    pb::Job job = ended_job(pb::JOB_STATE_SUCCEEDED);
    pb::Attempt first = job.attempts(0);
    first.set_epoch(1);
    first.set_state(pb::ATTEMPT_STATE_LOST);
    first.set_cause("node n2 was lost");
    first.mutable_last_step()->set_step(5);
    first.mutable_last_step()->set_loss(3.5);
    const pb::Attempt second = job.attempts(0);
    job.clear_attempts();
    *job.add_attempts() = first;
    *job.add_attempts() = second;
    EXPECT_EQ(print(history_table({job, pending_job()}, Detail::usual, after_submission(70))),
              "ID      NAME  STATE      ATTEMPT  RESULT     STEP    LOSS  VAL-LOSS  MESH    "
              "STARTED         "
              "       TOOK  REASON\n"
              "a1b2c3  demo  succeeded        3  succeeded   8/8  2.8113    2.7100  ring 2  "
              "2026-01-02T03:04"
              ":10Z  1m00s  -\n"
              "a1b2c3  demo  succeeded        1  lost        5/8  3.5000         -  ring 2  "
              "2026-01-02T03:04"
              ":10Z  1m00s  node n2 was lost\n"
              "a1b2c3  demo  pending          -  -           0/8       -         -  -       -      "
              "         "
              "          -  4 devices are wanted, 2 are free\n");
}

TEST(HistoryTable, SaysTheClassOfAFailureThatHasOne) {
    pb::Job job = ended_job(pb::JOB_STATE_FAILED, "no memory");
    job.mutable_attempts(0)->set_failure_class("out_of_memory");
    EXPECT_NE(print(history_table({job}, Detail::usual, after_submission(70)))
                  .find("  failed (out_of_memory)  "),
              std::string::npos);
    std::ostringstream csv;
    history_csv({job}).print_csv(csv);
    EXPECT_NE(csv.str().find(",out_of_memory,no memory,,,,,\n"), std::string::npos) << csv.str();
}

TEST(JobsTable, SaysPriorityAndRetriesWhenWide) {
    pb::Job job = ended_job(pb::JOB_STATE_FAILED);
    job.set_state(pb::JOB_STATE_PENDING);
    job.mutable_attempts(0)->set_failure_class("rank");
    job.mutable_spec()->set_priority(7);
    job.mutable_spec()->mutable_retry()->set_max(3);
    *job.mutable_retry_at() = to_proto(after_submission(90));
    const std::string text = print(jobs_table({job}, Detail::wide, after_submission(70)));
    EXPECT_NE(text.find("  7         1 of 3 in 20s  "), std::string::npos) << text;
}

TEST(DescribeJob, SaysWhatIsUnusualAboutItsAttempts) {
    std::ostringstream out;
    pb::Job job = pending_job();
    job.set_continues("old123");
    job.mutable_spec()->mutable_checkpoint()->set_from("/ckpt/old123");
    job.add_excluded_devices("n1:3");
    job.set_recovered(true);
    *job.mutable_retry_at() = to_proto(after_submission(90));
    describe_job({out}, job, after_submission(70));
    for (const char* part :
         {"continues   job old123, from /ckpt/old123\n", "retry       in 20s\n",
          "excluded    n1:3\n", "recovered   adopted from its workers after a restore\n"}) {
        EXPECT_NE(out.str().find(part), std::string::npos) << part << out.str();
    }
}

TEST(HistoryCsv, IsPlainNumbersUnderNames) {
    std::ostringstream out;
    history_csv({ended_job(pb::JOB_STATE_FAILED, "rank 1: no, data")}).print_csv(out);
    EXPECT_EQ(
        out.str(),
        "id,name,owner,state,submitted,ended,attempt,attempt_state,mesh,zero,attempt_started,"
        "attempt_ended,step,num_steps,tokens,loss,held_out_loss,unigram_entropy,bigram_entropy,"
        "checkpoint,failure_class,cause,cost,currency,kwh,"
        "planned_step_seconds,measured_step_seconds\n"
        "a1b2c3,demo,default,failed,2026-01-02T03:04:05Z,2026-01-02T03:05:10Z,3,failed,ring 2,0,"
        "2026-01-02T03:04:10Z,2026-01-02T03:05:10Z,8,8,98304,2.8113,2.71,3.41,2.61,"
        "/ckpt/a1b2c3/e3-s2,,\"rank 1: no, data\",,,,,\n");
}

TEST(NodesTable, ShowsWhatANodeOffers) {
    pb::Node node;
    node.set_id("n4f2");
    node.set_state(pb::NODE_STATE_READY);
    node.set_session_up(true);
    pb::Inventory& inventory = *node.mutable_inventory();
    inventory.set_hostname("box");
    inventory.set_cores(8);
    inventory.set_memory_bytes(std::int64_t{3} << 30);
    inventory.add_devices()->set_kind("cpu");
    node.add_busy_devices(0);
    *node.mutable_last_seen() = to_proto(after_submission(0));
    EXPECT_EQ(print(nodes_table({node}, Detail::usual, after_submission(4))),
              "ID    NAME  STATE  SESSION  KIND  DEVICES  BUSY  CORES   MEMORY  SEEN\n"
              "n4f2  box   ready  up       cpu         1     1      8  3.0 GiB    4s\n");
}

TEST(NodesTable, ShowsTheMeasuredSpeedBesideThePublishedPeak) {
    pb::Node node;
    node.set_id("n4f2");
    pb::Device& device = *node.mutable_inventory()->add_devices();
    device.set_kind("L40S");
    device.mutable_bf16()->set_flops(362e12);
    device.mutable_bf16()->set_name("bf16 362 TFLOP/s L40S data sheet");
    node.add_profiles()->set_bf16_flops(181.7e12);
    const std::string table = print(nodes_table({node}, Detail::wide, kSubmitted));
    EXPECT_NE(table.find("PEAK                              MEASURED"), std::string::npos) << table;
    EXPECT_NE(table.find("bf16 362 TFLOP/s L40S data sheet  bf16 181.7 TFLOP/s"), std::string::npos)
        << table;
}

TEST(NodesTable, SaysThatANodeIsDrained) {
    pb::Node node;
    node.set_id("n4f2");
    node.set_state(pb::NODE_STATE_READY);
    node.set_drained("a new disk");
    EXPECT_NE(print(nodes_table({node}, Detail::usual, kSubmitted)).find("  drained  "),
              std::string::npos);
    EXPECT_NE(print(nodes_table({node}, Detail::wide, kSubmitted)).find("  a new disk "),
              std::string::npos);
}

TEST(DescribeJob, SaysEverythingThatIsKnown) {
    std::ostringstream out;
    pb::Job job = running_job(6);
    *job.mutable_last_evaluation() = sample_evaluation(4);
    describe_job({out}, job, after_submission(192));
    for (const char* part :
         {"job         a1b2c3", "2026-01-02T03:04:05Z (3m12s ago)",
          "/data/books (byte-level tokens if it is text, 2.0% held out)",
          "step 6/8  loss 2.8113  grad 0.94  2.0 s  8192 tok/s  MFU 46.1%  mem 1.5 GiB  waits 3.0% "
          "(ring 3%)\n  MFU counts causal attention; its peak is fp32 112 GFLOP/s measured\n"
          "  each rank uses 1.5 GiB; each step sends ring 1.0 MiB\n",
          "MFU by the full-attention count: 60.0%, HFU (causal): 0.0%",
          "validation at step 4: 2.7100 nats/byte", "16K", "32,768", "/ckpt/a1b2c3/e3-s2",
          "mesh of attempt 3\n  ring 2, 2 ranks on 2 nodes\n", "n2    0        1      1"}) {
        EXPECT_NE(out.str().find(part), std::string::npos) << part << "\nis not in\n" << out.str();
    }
}

TEST(DescribeJob, SaysOfTokensNoMoreThanTheFormatTells) {
    const auto data_of = [](const std::string& format, const std::string& tokenizer) {
        pb::Job job = pending_job();
        job.mutable_spec()->mutable_data()->set_format(format);
        job.mutable_spec()->mutable_data()->set_tokenizer(tokenizer);
        std::ostringstream out;
        describe_job({out}, job, after_submission(1));
        const std::string begin = "data        /data/books (";
        const std::size_t at = out.str().find(begin) + begin.size();
        return out.str().substr(at, out.str().find(',', at) - at);
    };
    EXPECT_EQ(data_of("megatron", "bytes"), "Megatron ids");
    EXPECT_EQ(data_of("llmc", "bytes"), "llm.c ids");
    EXPECT_EQ(data_of("jsonl", "bytes"), "byte-level tokens");
    EXPECT_EQ(data_of("text", "/llama/tokenizer.json"), "tokenizer /llama/tokenizer.json");
    EXPECT_EQ(data_of("auto", "bytes"), "byte-level tokens if it is text");
    EXPECT_EQ(data_of("auto", "/llama"), "tokenizer /llama if it is text");
}

TEST(DescribeJob, ListsStagesAsTheyAreTrained) {
    pb::Job job = pending_job();
    pb::StageSpec& first = *job.mutable_spec()->mutable_stages(0);
    first.set_tokens(40'000);  // in whole batches: 5 of 8,192
    first.set_rope_theta(500'000);
    first.set_warmup_steps(2);
    job.mutable_spec()->mutable_stages(1)->set_rope_theta(0);
    std::ostringstream out;
    describe_job({out}, job, after_submission(1));
    EXPECT_NE(
        out.str().find("stages\n"
                       "  #  CONTEXT  BATCH  STEPS  TOKENS  ROPE-THETA  LEARNING-RATE   WARMUP\n"
                       "  1       8K     8K      5  40,960      500000  0.001 constant       2\n"
                       "  2      16K    16K      4  65,536     model's  0.001 constant       0\n"),
        std::string::npos)
        << out.str();
}

TEST(DescribeJob, PrintsTheAlarmsOfAJob) {
    const auto described = [](const pb::Job& job) {
        std::ostringstream out;
        describe_job({out}, job, after_submission(70));
        return out.str();
    };
    pb::Job job = running_job(6);
    EXPECT_EQ(described(job).find("alarms"), std::string::npos);
    pb::Alarm& alarm = *job.add_alarms();
    alarm.set_epoch(3);
    *alarm.mutable_time() = to_proto(after_submission(60));
    alarm.set_text("checkpoint e3-s2 skipped");
    EXPECT_NE(described(job).find("\nalarms\n  2026-01-02T03:05:05Z attempt 3: checkpoint e3-s2 "
                                  "skipped\n"),
              std::string::npos)
        << described(job);
}

TEST(DescribeJob, SaysWhichLayoutWasAskedFor) {
    const auto described = [](const pb::Job& job) {
        std::ostringstream out;
        describe_job({out}, job, after_submission(1));
        return out.str();
    };
    pb::Job job = pending_job();
    job.mutable_spec()->set_zero(3);
    EXPECT_NE(described(job).find("mesh        auto, ZeRO-3\n"), std::string::npos);
    *job.mutable_spec()->mutable_parallel() = to_proto(Mesh::make(1, 4, 1, 2, 2).value());
    job.mutable_spec()->mutable_data()->set_documents("separate");
    job.mutable_spec()->mutable_data()->set_positions("reset");
    job.mutable_spec()->mutable_optimizer()->set_moments("bf16");
    job.mutable_spec()->mutable_optimizer()->set_gradients("bf16");
    for (const char* part :
         {"mesh        ring 4 (2 of 2) x tensor 2, ZeRO-3\n",
          "(byte-level tokens if it is text, 2.0% held out, separate documents, positions reset)\n",
          "model       tiny, fp32, moments bf16, gradients bf16\n"}) {
        EXPECT_NE(described(job).find(part), std::string::npos) << part << described(job);
    }
}

TEST(DescribeJob, SaysWhichMemoryWasAskedForAndWhatBecameOfIt) {
    const auto described = [](const pb::Job& job) {
        std::ostringstream out;
        describe_job({out}, job, after_submission(1));
        return out.str();
    };
    pb::Job job = running_job(6);
    JobSpec spec;
    *job.mutable_spec()->mutable_memory() = to_proto(spec).memory();
    EXPECT_EQ(described(job).find("messages"), std::string::npos) << described(job);
    spec.messages.ulysses = MessageNumbers::fp8;
    *job.mutable_spec()->mutable_messages() = to_proto(spec).messages();
    EXPECT_NE(described(job).find(", messages of ulysses in fp8"), std::string::npos)
        << described(job);
    spec.messages.tensor = MessageNumbers::fp8;
    *job.mutable_spec()->mutable_messages() = to_proto(spec).messages();
    EXPECT_NE(described(job).find(", messages of ulysses and tensor in fp8"), std::string::npos)
        << described(job);
    EXPECT_NE(described(job).find("memory      auto\n"), std::string::npos) << described(job);
    spec.memory = {.tile = 512,
                   .chunk = 1024,
                   .keep = Keep::input,
                   .alpha = 0.3,
                   .windows = Switch::on,
                   .keep_every = 2,
                   .keep_precision = KeptPrecision::fp8,
                   .prefetch = 2,
                   .arena = ArenaReuse::off,
                   .device = Bytes{std::int64_t{40} << 30},
                   .host = Bytes{std::int64_t{200} << 30}};
    *job.mutable_spec()->mutable_memory() = to_proto(spec).memory();
    *job.mutable_attempts(job.attempts_size() - 1)->mutable_memory() =
        to_proto(resolve_memory(spec.memory));
    for (const char* part :
         {"memory      tile 512, chunk 1024, keep input, alpha 0.3, windows on, keep every 2 "
          "layers, keep precision fp8, prefetch 2, arena separate, device at most 40GiB, host at "
          "most 200GiB, the rest auto\n",
          "memory of attempt 3\n  tile 512, chunk 1024, keeps input of every 2 layers, alpha 0.3, "
          "kept on "
          "the host in fp8, in windows, prefetch 2, buffers separate, device at most 40GiB, host "
          "at most "
          "200GiB\n"}) {
        EXPECT_NE(described(job).find(part), std::string::npos) << part << described(job);
    }
}

TEST(DescribeJob, GivesEveryReasonAJobWaitsFor) {
    std::ostringstream out;
    pb::Job job = pending_job();
    job.add_blocking_reasons("node n9 is draining");
    describe_job({out}, job, after_submission(1));
    EXPECT_NE(
        out.str().find("pending\n  4 devices are wanted, 2 are free\n  node n9 is draining\n"),
        std::string::npos)
        << out.str();
}

}  // namespace
}  // namespace rm
