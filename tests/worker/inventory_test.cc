#include "worker/inventory/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/security/pki.h"
#include "service/state_dir.h"
#include "tests/worker/support.h"
#include "worker/daemon/identity.h"
#include "worker/daemon/metrics_page.h"
#include "worker/daemon/worker_options.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

TEST(Inventory, ReadsTheFactsOfThisMachine) {
    const Inventory inventory = take_inventory(
        2, {.num_slots = 4, .num_cores = machine_cores(), .memory = machine_memory()});
    EXPECT_FALSE(inventory.hostname.empty());
    EXPECT_GE(inventory.num_cores, 1);
    EXPECT_GT(inventory.memory.value, 1 << 20);
    EXPECT_EQ(inventory.devices.size(), 2u);
}

TEST(Inventory, UnderstandsTheFilesOfLinux) {
    EXPECT_EQ(parse_os_release("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
              "Debian GNU/Linux 12 (bookworm)");
    EXPECT_EQ(parse_os_release("PRETTY_NAME=Alpine"), "Alpine");
    EXPECT_EQ(parse_os_release(""), "");
    EXPECT_EQ(parse_cpu_model("processor\t: 0\nmodel name\t: AMD EPYC 7742\n"), "AMD EPYC 7742");
    EXPECT_EQ(parse_total_memory("MemTotal:       24601234 kB\nMemFree: 1 kB\n"),
              (Bytes{24601234LL * 1024}));
    EXPECT_EQ(parse_total_memory("nonsense"), Bytes{});
}

TEST(Inventory, SlotsShareTheMachine) {
    const MachineShare share{.num_slots = 4,
                             .num_cores = 10,
                             .memory = {4000},
                             .fp32 = {8e9, "fp32 8 GFLOP/s measured"},
                             .bf16 = {16e9, "bf16 16 GFLOP/s measured"}};
    const auto devices = cpu_devices(2, share);
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_EQ(devices[1].index, 1);
    EXPECT_EQ(devices[1].kind, "cpu");
    EXPECT_EQ(devices[1].num_threads, 2);
    EXPECT_EQ(devices[1].memory, Bytes{1000});
    EXPECT_EQ(devices[1].peak("fp32"), (Peak{2e9, share.fp32.name}));
    EXPECT_EQ(devices[1].peak("bf16"), (Peak{4e9, share.bf16.name}));
    EXPECT_EQ(cpu_devices(1, {.num_slots = 64, .num_cores = 2})[0].num_threads, 1);
}

TEST(Devices, AreCpuSlotsOnly) {
    EXPECT_EQ(*parse_cpu_devices("cpu:4"), 4);
    for (const char* wrong :
         {"", "cpu", "cpu:", "cpu:0", "cpu:-1", "cpu:2000", "cpu:2x", "cuda:1"}) {
        const auto refused = parse_cpu_devices(wrong);
        ASSERT_FALSE(refused.ok()) << wrong;
        EXPECT_THAT(refused.error().message, HasSubstr(format("'{}'", wrong)));
    }
    EXPECT_THAT(parse_cpu_devices("cuda").error().message,
                HasSubstr("--devices cpu:N offers CPU slots"));
}

TEST(DataAddress, IsLoopbackOrPrivate) {
    for (const char* right : {"127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.1", "192.168.0.9",
                              "169.254.1.1", "::1", "fd00::1", "fe80::1"}) {
        EXPECT_TRUE(check_data_address(right).ok()) << right;
    }
    for (const char* wrong :
         {"8.8.8.8", "172.32.0.1", "11.0.0.1", "0.0.0.0", "2001:4860::1", "localhost", ""}) {
        EXPECT_FALSE(check_data_address(wrong).ok()) << wrong;
    }
}

TEST(Identity, IsMadeOnceAndKept) {
    const TempDir dir;
    const std::string path = dir.path() + "/identity.json";
    const Result<Identity> made = load_identity(path);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(made->node.value.size(), 36u);
    EXPECT_TRUE(made->cluster.empty());
    Identity changed = *made;
    changed.cluster = {"c1"};
    changed.highest_epoch = {12};
    ASSERT_TRUE(save_identity(path, changed).ok());
    EXPECT_EQ(*load_identity(path), changed);
}

TEST(Identity, OfANewNodeIsWhatItsCertificateNames) {
    const TempDir dir;
    EXPECT_EQ(load_identity(dir.path() + "/one", "gpu-7")->node.value, "gpu-7");
    const std::string pooled = load_identity(dir.path() + "/two", "rack1-*")->node.value;
    EXPECT_EQ(pooled.substr(0, 6), "rack1-");
    EXPECT_EQ(pooled.size(), 6u + 36u);
    EXPECT_EQ(load_identity(dir.path() + "/two", "rack1-*")->node.value, pooled);
}

TEST(Identity, IsNotThatOfACertificateForAnotherNode) {
    const TempDir dir;
    const std::string path = dir.path() + "/identity.json";
    ASSERT_TRUE(load_identity(path, "gpu-7").ok());
    const Result<Identity> other = load_identity(path, "gpu-8");
    EXPECT_EQ(other.error().code, ErrorCode::failed_precondition);
    EXPECT_NE(other.error().message.find("--name 'gpu-7'"), std::string::npos);
}

TEST(Identity, ThatIsDamagedIsNotReplaced) {
    const TempDir dir;
    const std::string path = dir.path() + "/identity.json";
    ASSERT_TRUE(write_file_atomically(path, "{").ok());
    EXPECT_EQ(load_identity(path).error().code, ErrorCode::data_loss);
    EXPECT_EQ(*read_small_file(path), "{");
}

struct Scrape : testing::Test {
    const TempDir dir;
    const WallTime now = SystemClock().wall();
    const KeyPair authority = make_authority("test", now, 1).value();
    const std::unique_ptr<Authenticator> scrapers = [this] {
        RM_CHECK(write_file_atomically(dir.path() + "/ca", authority.certificate).ok(), "no file");
        return Authenticator::open({.client_ca = dir.path() + "/ca"}).value();
    }();

    int status(const HttpRequest& request) const {
        return answer_scrape(request, *scrapers, now, [] { return HttpResponse{}; }).status;
    }
    int status_of(Role role) const {
        const auto made = issue(authority, {.name = "x", .role = role, .days = 1}, now);
        return status(
            {.path = "/metrics", .over_tls = true, .certificate = made.value().certificate});
    }
};

TEST_F(Scrape, IsForViewersOverTlsAndForEverybodyOnLoopback) {
    EXPECT_EQ(status({.path = "/metrics"}), 200);
    EXPECT_EQ(status({.path = "/metrics", .over_tls = true}), 401);
    EXPECT_EQ(status_of(Role::viewer), 200);
    EXPECT_EQ(status_of(Role::worker), 403);
    EXPECT_EQ(status({.path = "/else", .over_tls = true}), 404);
}

TEST(Advertised, IsWhatOthersCanReach) {
    EXPECT_EQ(advertised("127.0.0.1:7072", {}), "127.0.0.1:7072");
    EXPECT_EQ(advertised("10.0.0.1:7072", {.tls_cert = "c"}), "https://10.0.0.1:7072");
    EXPECT_EQ(advertised("0.0.0.0:7072", {.tls_cert = "c"}),
              "https://" + machine_hostname() + ":7072");
}

}  // namespace
}  // namespace rm
