// The API's client against the fake server.
#include "controller/discovery/crusoe_api.h"

#include <gtest/gtest.h>

#include "cli/fleet/operations.h"
#include "tests/fleet/fake_crusoe.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

class CrusoeApiTest : public testing::Test {
protected:
    CrusoeApi api(CrusoeConfig config) {
        return {std::move(config),
                clock_,
                {.request = Seconds{5}, .first_pause = Seconds{0.01}, .tries = 3}};
    }
    CrusoeApi api() { return api(fake_.config()); }
    MachineOrder order(int count) {
        return {.prefix = "ring",
                .count = count,
                .shape = "l40s-48gb.10x",
                .location = "us-east1-a",
                .image = "ringmaster",
                .ssh_public_key = "ssh-ed25519 AAAA me"};
    }
    CloudOperation end_of(CrusoeApi& api, const CloudOperation& begun) {
        CloudOperation last = begun;
        for (int look = 0; look < 20 && last.state == OperationState::in_progress; ++look)
            last = api.operation(begun.id).value();
        return last;
    }

    SystemClock clock_;
    TempDir dir_;
    FakeCrusoe fake_{std::string(dir_.path()),
                     {"--machine", "m1=10.0.0.1", "--machine", "m2=10.0.0.2", "--machine",
                      "m3=10.0.0.3", "--machine", "m4=10.0.0.4", "--machine", "m5=10.0.0.5"}};
};

TEST_F(CrusoeApiTest, ReadsAListPageByPage) {
    CrusoeApi cloud = api();
    const std::vector<Machine> machines = cloud.machines().value();
    ASSERT_EQ(machines.size(), 5u);
    EXPECT_EQ(machines[4].name, "m5");
    EXPECT_EQ(machines[4].addresses[0], "10.0.0.5");
    EXPECT_EQ(machines[0].state, MachineState::running);
    EXPECT_EQ(machines[1].state, MachineState::running);
    EXPECT_EQ(fake_.count("GET /v1/projects/00000000-0000-0000-0000-000000000000/compute/vms/"
                          "instances?"),
              3);
    EXPECT_EQ(fake_.count("GET /v1/projects?project_name=default"), 1);
    EXPECT_EQ(cloud.shapes().value().size(), 7u);
    EXPECT_EQ(fake_.count("GET /v1/projects?"), 1) << "the project's id is asked for once";
}

TEST_F(CrusoeApiTest, AsksAgainAfterTroubleAndGivesUpAfterMuch) {
    fake_.control({{"faults", {"503", "429"}}});
    EXPECT_EQ(api().machines().value().size(), 5u);
    fake_.control({{"faults", {"drop", "500"}}});
    EXPECT_EQ(api().machines().value().size(), 5u);
    fake_.control({{"faults", {"500", "500", "500"}}});
    EXPECT_EQ(api().machines().error().code, ErrorCode::unavailable);
    fake_.control({{"faults", {"garbage"}}});
    EXPECT_EQ(api().machines().error().code, ErrorCode::data_loss);
    EXPECT_EQ(api().machines().value().size(), 5u) << "no fault is left";
}

TEST_F(CrusoeApiTest, SaysWhatIsWrongAndNeverTheKey) {
    CrusoeConfig wrong = fake_.config();
    wrong.secret_key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHhA");
    const Error refused = api(wrong).machines().error();
    EXPECT_EQ(refused.code, ErrorCode::unauthenticated);
    EXPECT_NE(refused.message.find("clock"), std::string::npos) << refused.message;
    EXPECT_EQ(refused.message.find(FakeCrusoe::kKeyId), std::string::npos) << refused.message;
    wrong = fake_.config();
    wrong.project = "another";
    EXPECT_EQ(api(wrong).machines().error().code, ErrorCode::not_found);
    EXPECT_EQ(api().operation("none").error().code, ErrorCode::permission_denied);
}

TEST_F(CrusoeApiTest, SaysWhenNobodyListens) {
    CrusoeConfig nowhere = fake_.config();
    nowhere.endpoint.port = 1;
    EXPECT_EQ(api(nowhere).machines().error().code, ErrorCode::unavailable);
}

TEST_F(CrusoeApiTest, CreatesAndDeletes) {
    CrusoeApi cloud = api();
    const CloudOperation begun = cloud.create(order(3)).value();
    EXPECT_EQ(begun.state, OperationState::in_progress);
    EXPECT_EQ(end_of(cloud, begun).state, OperationState::succeeded);
    const auto made = named(cloud.machines().value(), names_of(order(3)));
    ASSERT_EQ(made.size(), 3u);
    EXPECT_EQ(made[2].name, "ring-3");
    const nlohmann::json body = fake_.control({})["bodies"][0];
    EXPECT_EQ(body["instance_template"]["image_name"], "ringmaster");
    EXPECT_EQ(body["locations"][0]["location"], "us-east1-a");
    EXPECT_FALSE(body["instance_template"].contains("startup_script"));
    EXPECT_EQ(end_of(cloud, cloud.remove(made[0].id).value()).state, OperationState::succeeded);
    EXPECT_EQ(named(cloud.machines().value(), names_of(order(3))).size(), 2u);
    EXPECT_EQ(cloud.remove(made[0].id).error().code, ErrorCode::not_found);
}

TEST_F(CrusoeApiTest, SaysWhyMachinesWereNotCreated) {
    fake_.control({{"stock", 1}});
    CrusoeApi cloud = api();
    const CloudOperation failed = end_of(cloud, cloud.create(order(2)).value());
    EXPECT_EQ(failed.state, OperationState::failed);
    EXPECT_EQ(failed.code, "out_of_stock");
    EXPECT_NE(failed.message.find("l40s-48gb.10x"), std::string::npos);
    EXPECT_EQ(cloud.create(order(2)).error().code, ErrorCode::already_exists);
    MachineOrder odd = order(1);
    odd.shape = "l40s-48gb.3x";
    EXPECT_EQ(cloud.create(odd).error().code, ErrorCode::invalid_argument);
}

TEST_F(CrusoeApiTest, NeverSendsAChangeTwice) {
    CrusoeApi cloud = api();
    cloud.machines().value();
    for (const char* fault : {"POST drop", "POST 500", "POST garbage", "POST drop-after"}) {
        fake_.control({{"faults", {fault}}});
        EXPECT_EQ(cloud.create(order(1)).error().code, ErrorCode::unknown) << fault;
    }
    EXPECT_EQ(fake_.count("POST "), 4);
    EXPECT_EQ(named(cloud.machines().value(), {"ring-1"}).size(), 1u) << "by the last";
    fake_.control({{"faults", {"POST 429"}}});
    EXPECT_EQ(cloud.create(order(1)).error().code, ErrorCode::resource_exhausted);
    EXPECT_EQ(fake_.count("POST "), 5);
    fake_.control({{"faults", {"DELETE drop"}}});
    EXPECT_EQ(cloud.remove(cloud.machines().value()[0].id).error().code, ErrorCode::unknown);
    EXPECT_EQ(fake_.count("DELETE "), 1);
}

TEST_F(CrusoeApiTest, AStopEndsARequest) {
    std::stop_source stop;
    stop.request_stop();
    CrusoeApi cloud(fake_.config(), clock_, {}, stop.get_token());
    EXPECT_EQ(cloud.machines().error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace rm
