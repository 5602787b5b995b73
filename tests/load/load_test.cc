#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <thread>

#include "ringmaster/v1/job.grpc.pb.h"
#include "tests/load/channels.h"
#include "tests/load/controller_process.h"
#include "tests/load/listing.h"
#include "tests/load/many_jobs.h"
#include "tests/load/pages.h"
#include "tests/load/running_fleet.h"
#include "tests/load/sessions.h"
#include "tests/load/submits.h"
#include "tests/support/temp_dir.h"

// Checks that nothing is lost or refused under some load. ringmaster-load measures the speed.
namespace rm::load {
namespace {

namespace pb = ringmaster::v1;

std::set<std::string> all_jobs(const std::string& address) {
    const auto stub = pb::JobService::NewStub(own_channel(address));
    pb::HistoryRequest request;
    request.set_page_size(1000);
    std::set<std::string> ids;
    do {
        grpc::ClientContext context;
        pb::HistoryReply reply;
        const grpc::Status status = stub->History(&context, request, &reply);
        RM_CHECK(status.ok(), "{}", status.error_message());
        for (const pb::Job& job : reply.jobs())
            ids.insert(job.id());
        request.set_page_token(reply.next_page_token());
    } while (!request.page_token().empty());
    return ids;
}

// Kept where fsync is real: a private directory in memory would hide what is not on the disk.
TEST(Load, NoAcknowledgedSubmitIsLostToAKill) {
    TempDir directory;
    const ControllerOptions options{directory.file("state"), {}, {}};
    SubmitReport report;
    {
        ControllerProcess controller(options);
        std::thread clients([&] {
            report = run_submits(controller.address(),
                                 {.clients = 16, .rate = 200, .duration = Seconds{2}});
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(1200));
        controller.stop(SIGKILL);
        clients.join();
    }
    EXPECT_FALSE(report.errors.empty()) << "it was killed in the middle";
    ASSERT_GT(report.acked.size(), 10u);
    ControllerProcess again(options);
    const std::set<std::string> kept = all_jobs(again.address());
    for (const auto& [request, job] : report.acked)
        EXPECT_TRUE(kept.contains(job)) << "of " << request;
}

TEST(Load, SubmitsAreTakenThoughTheDiskIsSlow) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "nothing can be preloaded before the address sanitizer";
#endif
    TempDir directory;
    ControllerProcess controller({directory.file("state"), Seconds{0.005}, {}});
    const SubmitReport report =
        run_submits(controller.address(), {.clients = 8, .rate = 50, .duration = Seconds{1}});
    EXPECT_TRUE(report.errors.empty()) << report.errors.begin()->first;
    EXPECT_EQ(report.acked.size(), 50u);
    EXPECT_GT(report.percentile(0.5), 0.005) << "a reply comes after the fsync";
}

TEST(Load, IdleWorkersCostNoThreads) {
    TempDir directory;
    ControllerProcess controller({directory.file("state"), {}, {}});
    Sessions few(controller.address(), 2, 1000);
    ASSERT_TRUE(few.wait_until_open(Seconds{20}));
    const int threads = controller.use().num_threads;
    TempDir other;
    ControllerProcess crowded({other.file("state"), {}, {}});
    Sessions many(crowded.address(), 100, 1000);
    ASSERT_TRUE(many.wait_until_open(Seconds{60}));
    EXPECT_LT(crowded.use().num_threads, threads + 20);
    EXPECT_EQ(many.counts().ended, 0);
}

TEST(Load, ListsArePagesOfManyJobs) {
    TempDir directory;
    // More than one call reads.
    constexpr int kJobs = 24'000;
    store_jobs(directory.file("state"), kJobs, 20);
    ControllerProcess controller({directory.file("state"), {}, {}});
    const std::vector<CallTimes> times = time_lists(controller.address(), 1);
    EXPECT_EQ(times[0].rows, 20) << times[0].what;
    EXPECT_EQ(times[1].rows, 100) << times[1].what;
    EXPECT_EQ(times[3].rows, kJobs / 100) << times[3].what;
    EXPECT_EQ(times[4].rows, 0) << times[4].what;
    EXPECT_EQ(times[5].rows, 49) << times[5].what;
    EXPECT_EQ(all_jobs(controller.address()).size(), std::size_t{kJobs});
}

TEST(Load, PagesReadARunWhileItsRanksReport) {
    const TempDir directory;
    ControllerProcess controller({directory.file("state"), {}, {}, "127.0.0.1:0"});
    const RunningFleet fleet(controller.address(),
                             {.nodes = 4, .devices = 2, .steps_per_second = 10});
    const std::string steps = "/api/v1/jobs/" + fleet.job() + "/steps?quantity=seconds&rank=all";
    const Pages pages(controller.http(), 8, {{steps, Seconds{0.1}}});
    const auto has_read = [&] {
        const PageCounts counts = pages.counts();
        return counts.events > 8 && counts.answers > 8 && fleet.num_kept() > 80;
    };
    for (int i = 0; i < 1000 && !has_read(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(has_read());
    EXPECT_EQ(pages.counts().faults, 0) << pages.counts().fault;
}

}  // namespace
}  // namespace rm::load
