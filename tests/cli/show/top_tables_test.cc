#include <gtest/gtest.h>

#include <sstream>

#include "cli/show/job_tables.h"
#include "tests/cli/show/sample_job.h"

namespace rm {
namespace {

pb::TopRank rank_of(int number, double wait) {
    pb::TopRank rank;
    rank.set_rank(number);
    rank.set_node_id(format("{}0000000-long-id", number));
    rank.set_hostname("host");
    rank.set_session_up(true);
    rank.set_reported(true);
    rank.set_running(true);
    rank.set_phase("forward");
    rank.set_step(6);
    rank.set_last_step(5);
    rank.set_step_seconds(2);
    rank.set_wait_seconds(wait);
    rank.set_ring_wait_seconds(wait / 2);
    rank.set_causal_mfu(0.461);
    rank.set_device_bytes(std::int64_t{3} << 29);
    return rank;
}

pb::TopReply reply_of(std::vector<pb::TopRank> ranks) {
    pb::TopReply reply;
    pb::TopJob& job = *reply.add_jobs();
    *job.mutable_job() = running_job(5);
    for (const pb::TopRank& rank : ranks)
        *job.add_ranks() = rank;
    return reply;
}

std::string printed(const Table& table) {
    std::ostringstream out;
    table.print({out});
    return out.str();
}

std::string heading(const pb::TopReply& reply) {
    std::string text;
    for (const Cell& line : top_heading(reply.jobs(0), after_submission(20)))
        text += line.text + "\n";
    return text;
}

TEST(TopTable, HasARowPerRank) {
    EXPECT_EQ(
        printed(top_table(reply_of({rank_of(0, 1), rank_of(1, 0.2)}), Detail::usual)),
        "JOB     RANK  NODE      DEV  STEP   TIME   WORK    MFU   MEMORY  HOST   WAIT   RING  "
        "PHASE    QUIET\n"
        "a1b2c3     0  00000000    0     6  2.0 s  1.0 s  46.1%  1.5 GiB     -  50.0%  25.0%  "
        "forward      -\n"
        "a1b2c3     1  10000000    0     6  2.0 s  1.8 s  46.1%  1.5 GiB     -  10.0%   5.0%  "
        "forward      -\n");
}

TEST(TopTable, SaysWhatIsWrongInsteadOfThePhase) {
    pb::TopRank away = rank_of(0, 1);
    away.set_session_up(false);
    pb::TopRank placed;
    placed.set_session_up(true);
    pb::TopRank ended = rank_of(2, 1);
    ended.set_exited(true);
    pb::TopRank suspended = rank_of(3, 1);
    suspended.set_suspended(true);
    const std::string text =
        printed(top_table(reply_of({away, placed, ended, suspended}), Detail::usual));
    for (const char* words : {"no session", "not launched", "ended", "suspended"})
        EXPECT_NE(text.find(words), std::string::npos) << text;
}

TEST(TopHeading, NamesTheRankThatTheOthersWaitFor) {
    const std::string slow = heading(reply_of({rank_of(0, 1), rank_of(1, 0.2)}));
    EXPECT_NE(slow.find("rank 1 on 10000000:0 worked 1.8 s, the others 1.0 s"), std::string::npos)
        << slow;
    EXPECT_NE(slow.find("step 5/8, loss 2.8113"), std::string::npos) << slow;
    const std::string even = heading(reply_of({rank_of(0, 1), rank_of(1, 1)}));
    EXPECT_EQ(even.find("worked"), std::string::npos) << even;
}

TEST(TopNodesTable, SumsUpTheRanksOfANode) {
    pb::TopRank neighbour = rank_of(1, 0.2);
    neighbour.set_node_id(rank_of(0, 1).node_id());
    EXPECT_EQ(printed(top_nodes_table(reply_of({rank_of(0, 1), neighbour, rank_of(2, 1)}),
                                      Detail::usual)),
              "NODE      HOSTNAME  RANKS   WORK   MEMORY  HOST   WAIT  QUIET\n"
              "00000000  host          2  1.8 s  3.0 GiB     -  30.0%      -\n"
              "20000000  host          1  1.0 s  1.5 GiB     -  50.0%      -\n");
}

}  // namespace
}  // namespace rm
