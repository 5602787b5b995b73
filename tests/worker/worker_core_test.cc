#include "worker/core/worker_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/core_in_session.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

TEST(WorkerHello, StatesEverythingObserved) {
    WorkerFacts facts = facts_with(2);
    facts.boot_id = "boot";
    facts.attempts = {ended(3, 0), live(4, 1)};
    WorkerCore core(facts);
    const auto hellos = sent<Hello>(core.apply(SessionUp{}));
    ASSERT_EQ(hellos.size(), 1u);
    EXPECT_EQ(hellos[0].protocol, kProtocol);
    EXPECT_EQ(hellos[0].build, "b");
    EXPECT_EQ(hellos[0].node, NodeId{"n1"});
    EXPECT_EQ(hellos[0].cluster, ClusterId{"c1"});
    EXPECT_EQ(hellos[0].highest_epoch, Epoch{4});
    EXPECT_EQ(hellos[0].boot_id, "boot");
    EXPECT_EQ(hellos[0].inventory.devices.size(), 2u);
    EXPECT_EQ(hellos[0].attempts, (std::vector{ended(3, 0), live(4, 1)}));
}

TEST(WorkerHello, StatesTheLaunchesOfItsDirectoriesAndOfThisDaemon) {
    WorkerFacts facts = facts_with(2);
    facts.attempts = {ended(3, 0), live(4, 1)};
    facts.launches = {launch_of(4, {{0, 1}}), launch_of(2, {{0, 0}})};
    WorkerCore core(facts);
    core.apply(SessionUp{});
    core.apply(Received{HelloReply{.cluster = {"c1"}}});
    LaunchAttempt fresh = launch_of(5, {{0, 0}});
    fresh.yaml = "name: demo\n";
    core.apply(Received{fresh});
    EXPECT_EQ(core.hello().launches, (std::vector{launch_of(4, {{0, 1}}), fresh}));
}

TEST(WorkerHello, StatesWhereItsLinksAreProbed) {
    WorkerFacts facts = facts_with(1);
    facts.probe_port = 7081;
    EXPECT_EQ(WorkerCore(facts).hello().probe_port, 7081);
}

TEST(WorkerHello, StatesWhichMachineAndNetworkItIsOn) {
    WorkerFacts facts = facts_with(1);
    facts.machine = "boot/host";
    facts.network = "boot/net";
    const Hello hello = WorkerCore(facts).hello();
    EXPECT_EQ(hello.machine, "boot/host");
    EXPECT_EQ(hello.network, "boot/net");
}

TEST(WorkerProbes, AreRunForAControllerThatMayCommandOnly) {
    WorkerCore core(facts_with(1));
    core.apply(SessionUp{});
    EXPECT_TRUE(core.apply(Received{RunProbe{.id = 1}}).empty());
    EXPECT_TRUE(core.apply(Received{ExpectProbe{.nonce = "n"}}).empty());
    core.apply(Received{HelloReply{.cluster = {"c1"}}});
    EXPECT_EQ(all_of<RunProbe>(core.apply(Received{RunProbe{.id = 2}})).at(0).id, 2u);
    EXPECT_EQ(all_of<ExpectProbe>(core.apply(Received{ExpectProbe{.nonce = "n"}})).size(), 1u);
    EXPECT_EQ(sent<ProbeReport>(core.apply(ProbeDone{{.id = 2}})).at(0).id, 2u);
    core.apply(SessionDown{});
    EXPECT_TRUE(core.apply(ProbeDone{{.id = 2}}).empty()) << "nobody is there to hear it";
}

TEST(WorkerHello, NeverStatesAnEpochBelowThoseOfItsDirectories) {
    WorkerFacts facts = facts_with(1);
    facts.attempts = {live(9, 0)};
    EXPECT_EQ(WorkerCore(facts).highest_epoch(), Epoch{9});
}

TEST(WorkerHello, IsRepeatedWithWhatHappenedMeanwhile) {
    WorkerFacts facts = facts_with(1);
    facts.attempts = {live(4, 0)};
    WorkerCore core(facts);
    core.apply(SessionUp{});
    core.apply(SessionDown{});
    EXPECT_TRUE(core.apply(ShimObserved{ended(4, 0), {}}).empty());
    const auto hellos = sent<Hello>(core.apply(SessionUp{}));
    ASSERT_EQ(hellos.size(), 1u);
    EXPECT_EQ(hellos[0].attempts, std::vector{ended(4, 0)});
}

TEST(WorkerGreeting, AdoptsTheFirstClusterOnDiskBeforeAnythingElse) {
    WorkerFacts facts = facts_with(1);
    facts.cluster = {};
    WorkerCore core(facts);
    core.apply(SessionUp{});
    const auto out = core.apply(Received{HelloReply{.cluster = {"c7"}}});
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(std::get<PersistIdentity>(out[0]), (PersistIdentity{{"c7"}, {4}}));
    EXPECT_TRUE(core.accepted());
}

TEST(WorkerGreeting, OfAForeignClusterEndsTheSession) {
    WorkerCore core(facts_with(1));
    core.apply(SessionUp{});
    const auto ends = all_of<EndSession>(core.apply(Received{HelloReply{.cluster = {"other"}}}));
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_THAT(ends[0].reason, HasSubstr("cluster other"));
    EXPECT_TRUE(all_of<LaunchAttempt>(core.apply(Received{launch_of(5, {{0, 0}})})).empty());
    EXPECT_EQ(core.highest_epoch(), Epoch{4});
}

TEST(WorkerGreeting, OfAnotherProtocolEndsTheSession) {
    WorkerCore core(facts_with(1));
    core.apply(SessionUp{});
    const auto out = core.apply(Received{HelloReply{.cluster = {"c1"}, .protocol = kProtocol + 1}});
    ASSERT_EQ(all_of<EndSession>(out).size(), 1u);
    EXPECT_THAT(all_of<EndSession>(out)[0].reason, HasSubstr(format("protocol {}", kProtocol + 1)));
    EXPECT_FALSE(core.accepted());
}

TEST(WorkerGreeting, MustComeBeforeCommands) {
    WorkerCore core(facts_with(1));
    core.apply(SessionUp{});
    const auto out = core.apply(Received{launch_of(5, {{0, 0}})});
    ASSERT_EQ(sent<CommandRefused>(out).size(), 1u);
    EXPECT_TRUE(all_of<LaunchAttempt>(out).empty());
}

TEST_F(CoreInSession, PingIsEchoed) {
    start(facts_with(1));
    const auto pongs = sent<Pong>(receive(Ping{77}));
    ASSERT_EQ(pongs.size(), 1u);
    EXPECT_EQ(pongs[0].nonce, 77u);
}

TEST_F(CoreInSession, LaunchPersistsTheEpochBeforeTheShimStarts) {
    start(facts_with(2));
    const auto out = receive(launch_of(5, {{0, 0}, {1, 1}}));
    ASSERT_EQ(all_of<PersistIdentity>(out).size(), 1u);
    EXPECT_EQ(all_of<PersistIdentity>(out)[0], (PersistIdentity{{"c1"}, {5}}));
    ASSERT_EQ(all_of<LaunchAttempt>(out).size(), 1u);
    EXPECT_LT(first<PersistIdentity>(out), first<LaunchAttempt>(out));
    ASSERT_EQ(sent<AttemptStatus>(out).size(), 1u);
    EXPECT_TRUE(sent<AttemptStatus>(out)[0].processes_left);
}

TEST_F(CoreInSession, LaunchOfAKnownEpochIsAnsweredWithItsStatusAlone) {
    start(facts_with(1));
    receive(launch_of(5, {{0, 0}}));
    observe(live(5, 0));
    const auto out = receive(launch_of(5, {{0, 0}}));
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(sent<AttemptStatus>(out), std::vector{live(5, 0)});
}

TEST_F(CoreInSession, LaunchOfALowerEpochIsRefused) {
    start(facts_with(1));
    const auto refusals = sent<CommandRefused>(receive(launch_of(3, {{0, 0}})));
    ASSERT_EQ(refusals.size(), 1u);
    EXPECT_EQ(refusals[0].epoch, Epoch{3});
    EXPECT_THAT(refusals[0].reason, HasSubstr("not newer than 4"));
}

TEST_F(CoreInSession, LaunchOfAJobWhoseIdIsNoneIsRefused) {
    for (const char* id : {"../../../x", "abc12", "Abc123", "abc/12", ""}) {
        start(facts_with(1));
        LaunchAttempt launch = launch_of(5, {{0, 0}});
        launch.job = {id};
        const auto out = receive(launch);
        EXPECT_TRUE(all_of<LaunchAttempt>(out).empty()) << id;
        const auto refusals = sent<CommandRefused>(out);
        ASSERT_EQ(refusals.size(), 1u) << id;
        EXPECT_EQ(refusals[0].epoch, Epoch{5});
        EXPECT_THAT(refusals[0].reason, HasSubstr("job id"));
    }
}

TEST_F(CoreInSession, LaunchListensAtAnAddressThatTheWorkerOffersOrIsRefused) {
    WorkerFacts facts = facts_with(2);
    facts.inventory.data_address = "10.0.0.1";
    facts.data_addresses = {{"10.0.0.1", "10.0.0.0/16"}, {"10.1.0.1", "10.1.0.0/16"}};
    start(facts);
    EXPECT_EQ(core_->hello().data_addresses, facts.data_addresses);
    LaunchAttempt launch = launch_of(5, {{0, 0}});
    for (const char* wrong : {"8.8.8.8", "10.0.0.2", "127.0.0.1", "0.0.0.0"}) {
        launch.data_address = wrong;
        const auto out = receive(launch);
        EXPECT_TRUE(all_of<LaunchAttempt>(out).empty()) << wrong;
        ASSERT_EQ(sent<CommandRefused>(out).size(), 1u) << wrong;
        EXPECT_EQ(sent<CommandRefused>(out)[0].reason,
                  format("{} is no data address of this worker; it has 10.0.0.1, 10.1.0.1", wrong));
    }
    launch.data_address = "10.1.0.1";
    EXPECT_EQ(all_of<LaunchAttempt>(receive(launch)), std::vector{launch});
    // As controllers command that do not know of several.
    EXPECT_EQ(all_of<LaunchAttempt>(receive(launch_of(6, {{0, 1}}))).size(), 1u);
}

TEST_F(CoreInSession, LaunchOfTheHighestEpochIsRefusedWhenNothingOfItIsHere) {
    // The worker cannot tell whether it forgot the attempt or never started it; the controller
    // tries again with a new epoch.
    start(facts_with(1));
    EXPECT_EQ(sent<CommandRefused>(receive(launch_of(4, {{0, 0}}))).size(), 1u);
}

TEST_F(CoreInSession, LaunchOnDevicesThatAreNotHereIsRefused) {
    start(facts_with(2));
    EXPECT_THAT(sent<CommandRefused>(receive(launch_of(5, {{0, 2}})))[0].reason,
                HasSubstr("device 2; this worker has 2"));
    EXPECT_THAT(sent<CommandRefused>(receive(launch_of(5, {{0, 1}, {1, 1}})))[0].reason,
                HasSubstr("two ranks"));
    EXPECT_THAT(sent<CommandRefused>(receive(launch_of(5, {})))[0].reason, HasSubstr("no rank"));
    EXPECT_EQ(core_->highest_epoch(), Epoch{4});
}

TEST_F(CoreInSession, AClaimedDeviceGoesToTheHigherEpochWhenNoProcessIsLeft) {
    WorkerFacts facts = facts_with(2);
    facts.attempts = {live(4, 0)};
    start(facts);
    const auto claimed = receive(launch_of(5, {{0, 0}}));
    ASSERT_EQ(all_of<StopAttempt>(claimed).size(), 1u);
    EXPECT_EQ(all_of<StopAttempt>(claimed)[0].epoch, Epoch{4});
    EXPECT_LT(first<PersistIdentity>(claimed), first<StopAttempt>(claimed));
    EXPECT_TRUE(all_of<LaunchAttempt>(claimed).empty());

    AttemptStatus exited_but_left = ended(4, 0);
    exited_but_left.processes_left = true;
    EXPECT_TRUE(all_of<LaunchAttempt>(observe(exited_but_left)).empty());
    const auto freed = observe(ended(4, 0));
    ASSERT_EQ(all_of<LaunchAttempt>(freed).size(), 1u);
    EXPECT_EQ(all_of<LaunchAttempt>(freed)[0].epoch, Epoch{5});
    EXPECT_TRUE(all_of<LaunchAttempt>(observe(ended(4, 0))).empty());
}

TEST_F(CoreInSession, AnotherDeviceIsStartedBesideALiveAttempt) {
    WorkerFacts facts = facts_with(2);
    facts.attempts = {live(4, 0)};
    start(facts);
    const auto out = receive(launch_of(5, {{0, 1}}));
    EXPECT_TRUE(all_of<StopAttempt>(out).empty());
    EXPECT_EQ(all_of<LaunchAttempt>(out).size(), 1u);
}

TEST_F(CoreInSession, AWaitingLaunchGivesWayToAHigherEpoch) {
    WorkerFacts facts = facts_with(1);
    facts.attempts = {live(4, 0)};
    start(facts);
    receive(launch_of(5, {{0, 0}}));
    const auto out = receive(launch_of(6, {{0, 0}}));
    const auto statuses = sent<AttemptStatus>(out);
    ASSERT_EQ(statuses.size(), 2u);
    EXPECT_EQ(statuses[0].epoch, Epoch{5});
    EXPECT_FALSE(statuses[0].processes_left);
    EXPECT_THAT(statuses[0].launch_error, HasSubstr("epoch 6 claimed"));
    const auto starts = all_of<LaunchAttempt>(observe(ended(4, 0)));
    ASSERT_EQ(starts.size(), 1u);
    EXPECT_EQ(starts[0].epoch, Epoch{6});
}

TEST_F(CoreInSession, AWaitingLaunchCanBeStopped) {
    WorkerFacts facts = facts_with(1);
    facts.attempts = {live(4, 0)};
    start(facts);
    receive(launch_of(5, {{0, 0}}));
    const auto statuses = sent<AttemptStatus>(receive(StopAttempt{.epoch = {5}}));
    ASSERT_EQ(statuses.size(), 1u);
    EXPECT_FALSE(statuses[0].processes_left);
    EXPECT_TRUE(all_of<LaunchAttempt>(observe(ended(4, 0))).empty());
}

TEST_F(CoreInSession, AWaitingLaunchIsAPromiseInHello) {
    WorkerFacts facts = facts_with(1);
    facts.attempts = {live(4, 0)};
    start(facts);
    receive(launch_of(5, {{0, 0}}));
    const Hello hello = core_->hello();
    ASSERT_EQ(hello.attempts.size(), 2u);
    EXPECT_TRUE(hello.attempts[1].processes_left);
    EXPECT_EQ(hello.highest_epoch, Epoch{5});
}

TEST_F(CoreInSession, AShimThatDoesNotStartIsReportedWithItsReason) {
    start(facts_with(1));
    receive(launch_of(5, {{0, 0}}));
    const auto statuses =
        sent<AttemptStatus>(core_->apply(ShimNotStarted{{5}, "no space left on device"}));
    ASSERT_EQ(statuses.size(), 1u);
    EXPECT_EQ(statuses[0].launch_error, "no space left on device");
    EXPECT_FALSE(statuses[0].processes_left);
    EXPECT_TRUE(statuses[0].ranks.empty());
    EXPECT_EQ(all_of<LaunchAttempt>(receive(launch_of(6, {{0, 0}}))).size(), 1u);
}

TEST_F(CoreInSession, StopIsHandedToTheShimWithItsMode) {
    WorkerFacts facts = facts_with(1);
    facts.attempts = {live(4, 0)};
    start(facts);
    const StopAttempt stop{.epoch = {4}, .mode = StopMode::now};
    const auto stops = all_of<StopAttempt>(receive(stop));
    ASSERT_EQ(stops.size(), 1u);
    EXPECT_EQ(stops[0], stop);
}

TEST_F(CoreInSession, StopOfAnUnknownEpochIsAnsweredWithThat) {
    start(facts_with(1));
    const auto refusals = sent<CommandRefused>(receive(StopAttempt{.epoch = {9}}));
    ASSERT_EQ(refusals.size(), 1u);
    EXPECT_EQ(refusals[0].epoch, Epoch{9});
    EXPECT_THAT(refusals[0].reason, HasSubstr("does not have this attempt"));
}

TEST_F(CoreInSession, ForgetRemovesTheDirectoryOfAnEndedAttemptOnly) {
    WorkerFacts facts = facts_with(2);
    facts.attempts = {ended(3, 0), live(4, 1)};
    start(facts);
    const auto removed = all_of<ForgetAttempt>(receive(ForgetAttempt{{3}}));
    ASSERT_EQ(removed.size(), 1u);
    EXPECT_EQ(removed[0].epoch, Epoch{3});
    const auto refused = receive(ForgetAttempt{{4}});
    EXPECT_TRUE(all_of<ForgetAttempt>(refused).empty());
    EXPECT_EQ(sent<CommandRefused>(refused).size(), 1u);
    EXPECT_TRUE(receive(ForgetAttempt{{3}}).empty());
    EXPECT_EQ(core_->hello().attempts, std::vector{live(4, 1)});
}

TEST_F(CoreInSession, StatusIsSentOnChangeOnly) {
    start(facts_with(1));
    receive(launch_of(5, {{0, 0}}));
    EXPECT_EQ(sent<AttemptStatus>(observe(live(5, 0))).size(), 1u);
    EXPECT_TRUE(observe(live(5, 0)).empty());
    EXPECT_EQ(sent<AttemptStatus>(observe(ended(5, 0))).size(), 1u);
    EXPECT_TRUE(observe(ended(5, 0), 100).empty());
}

TEST_F(CoreInSession, ProgressIsSentAtMostOnceASecond) {
    start(facts_with(1));
    receive(launch_of(5, {{0, 0}}));
    observe(live(5, 0), 10.0);
    AttemptStatus status = live(5, 0);
    status.ranks[0].step = 1;
    EXPECT_TRUE(observe(status, 10.2).empty());
    status.ranks[0].step = 2;
    EXPECT_EQ(sent<AttemptStatus>(observe(status, 11.0)), std::vector{status});
    status.ranks[0].step = 3;
    EXPECT_TRUE(observe(status, 11.5).empty());
    status.ranks[0].training = true;
    EXPECT_EQ(sent<AttemptStatus>(observe(status, 11.6)), std::vector{status});
}

TEST_F(CoreInSession, AQuietRankIsReportedEveryFiveSeconds) {
    start(facts_with(1));
    receive(launch_of(5, {{0, 0}}));
    observe(live(5, 0), 10);
    std::vector<double> told;
    for (int i = 1; i <= 30; ++i) {
        AttemptStatus status = live(5, 0);
        status.ranks[0].quiet = Seconds{i * 0.5};
        if (!observe(status, 10 + i * 0.5).empty()) told.push_back(i * 0.5);
    }
    EXPECT_EQ(told, (std::vector<double>{5.5, 10.5}));
}

TEST_F(CoreInSession, ASuspendedRankIsReportedAtOnce) {
    start(facts_with(1));
    receive(launch_of(5, {{0, 0}}));
    observe(live(5, 0), 10);
    AttemptStatus status = live(5, 0);
    status.ranks[0].collectives_entered = 9;
    status.ranks[0].waits_for = 3;
    EXPECT_TRUE(observe(status, 10.1).empty());
    status.ranks[0].suspended = true;
    EXPECT_EQ(sent<AttemptStatus>(observe(status, 10.2)), std::vector{status});
    status.ranks[0].suspended = false;
    EXPECT_EQ(sent<AttemptStatus>(observe(status, 10.3)), std::vector{status});
}

TEST_F(CoreInSession, NothingIsSaidOfAForgottenAttempt) {
    WorkerFacts facts = facts_with(1);
    facts.attempts = {ended(4, 0)};
    start(facts);
    receive(ForgetAttempt{{4}});
    EXPECT_TRUE(observe(ended(4, 0)).empty());
}

TEST_F(CoreInSession, RootsAreInTheHelloAndToldAgainWhenTheyChangeNoticeably) {
    WorkerFacts facts = facts_with(1);
    facts.roots = {{.name = "ckpt", .path = "/ckpt", .free = {1000}}};
    start(facts);
    EXPECT_EQ(core_->hello().roots, facts.roots);
    std::vector<RootInfo> roots = facts.roots;
    roots[0].free = {950};
    EXPECT_TRUE(sent<RootsReport>(core_->apply(RootsObserved{roots})).empty()) << "a twentieth";
    roots[0].free = {800};
    EXPECT_EQ(sent<RootsReport>(core_->apply(RootsObserved{roots})).at(0).roots, roots);
    EXPECT_TRUE(sent<RootsReport>(core_->apply(RootsObserved{roots})).empty()) << "said already";
    roots[0].problem = "Stale file handle";
    EXPECT_EQ(sent<RootsReport>(core_->apply(RootsObserved{roots})).size(), 1u);
    EXPECT_EQ(core_->hello().roots, roots) << "of a later session";
}

TEST_F(CoreInSession, MeasuredProfilesAreInEveryHello) {
    WorkerFacts facts = facts_with(1);
    facts.profiles = {{"L40S", "570.86.10", "b1", 1.8e14, "{}"}};
    start(facts);
    EXPECT_EQ(core_->hello().profiles, facts.profiles);
}

TEST_F(CoreInSession, TheFitnessOfDevicesIsToldWhenItChanges) {
    start(facts_with(2));
    const DevicesReport bad{{{0, ""}, {1, "lost"}}};
    EXPECT_EQ(sent<DevicesReport>(core_->apply(DevicesObserved{bad})).at(0), bad);
    EXPECT_TRUE(sent<DevicesReport>(core_->apply(DevicesObserved{bad})).empty()) << "said already";
    EXPECT_EQ(core_->hello().inventory.devices[1].unfit, "lost") << "of a later session";
}

TEST_F(CoreInSession, QuestionsAboutFilesAreAnsweredLaterAndOnlyToAController) {
    start(facts_with(1));
    const CheckFiles check{"k", {{FileUse::data, "/data"}}};
    EXPECT_EQ(all_of<CheckFiles>(receive(check)).at(0), check);
    const ProbeRoot probe{"ckpt", "n", ProbeStep::look};
    EXPECT_EQ(all_of<ProbeRoot>(receive(probe)).at(0), probe);
    EXPECT_EQ(sent<FilesChecked>(core_->apply(FilesChecked{.key = "k"})).size(), 1u);
    core_->apply(SessionDown{});
    EXPECT_TRUE(core_->apply(FilesChecked{.key = "k"}).empty());
    core_->apply(SessionUp{});
    EXPECT_TRUE(receive(check).empty()) << "it has not been greeted";
}

}  // namespace
}  // namespace rm
