#include "worker/inventory/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/security/pki.h"
#include "service/state_dir.h"
#include "tests/worker/support.h"
#include "worker/daemon/data_address.h"
#include "worker/daemon/data_candidates.h"
#include "worker/daemon/identity.h"
#include "worker/daemon/metrics_page.h"
#include "worker/daemon/worker_options.h"

namespace rm {
namespace {

using ::testing::HasSubstr;

TEST(Inventory, ReadsTheFactsOfThisMachine) {
    const Inventory inventory = take_inventory(
        {.count = 2}, {.num_slots = 4, .num_cores = machine_cores(), .memory = machine_memory()});
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

TEST(HostMemory, IsTheLeastLimitOfTheControlGroupAndThoseAboveIt) {
    const TempDir two;
    std::filesystem::create_directories(two.path() + "/slice/worker");
    two.write("slice/memory.max", "3000\n");
    two.write("slice/worker/memory.max", "max\n");
    EXPECT_EQ(control_group_memory("0::/slice/worker\n", two.path()), Bytes{3000});
    two.write("slice/worker/memory.max", "2000\n");
    EXPECT_EQ(control_group_memory("0::/slice/worker\n", two.path()), Bytes{2000});
    EXPECT_EQ(control_group_memory("0::/\n", two.path()), Bytes{});

    const TempDir one;
    std::filesystem::create_directories(one.path() + "/memory/job");
    one.write("memory/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_EQ(control_group_memory("7:cpu:/job\n4:memory:/job\n0::/\n", one.path()), Bytes{});
    one.write("memory/job/memory.limit_in_bytes", "5000\n");
    EXPECT_EQ(control_group_memory("7:cpu:/job\n4:memory:/job\n0::/\n", one.path()), Bytes{5000});
}

TEST(HostMemory, LeavesSomeToEverythingElse) {
    const auto gib = [](std::int64_t n) { return Bytes{n << 30}; };
    EXPECT_EQ(memory_for_ranks(gib(32)), gib(30));
    EXPECT_EQ(memory_for_ranks(gib(1024)), gib(1020));
    EXPECT_EQ(memory_for_ranks(gib(4)), Bytes{(std::int64_t{4} << 30) - (std::int64_t{512} << 20)});
    EXPECT_EQ(memory_for_ranks(Bytes{0}), Bytes{0});
}

TEST(DataAddress, IsTheOneThatReachesTheController) {
    EXPECT_EQ(*data_address_towards("unix:/tmp/c.sock"), "127.0.0.1");
    EXPECT_EQ(*data_address_towards("127.0.0.1:7070"), "127.0.0.1");
    const auto nameless = data_address_towards("no-such-host.invalid:7070");
    ASSERT_FALSE(nameless);
    EXPECT_THAT(nameless.error().message, HasSubstr("no-such-host.invalid"));
    EXPECT_THAT(nameless.error().message, HasSubstr("--data-address"));
}

TEST(Inventory, SlotsShareTheMachine) {
    const MachineShare share{.num_slots = 4,
                             .num_cores = 10,
                             .memory = {4000},
                             .fp32 = {8e9, "fp32 8 GFLOP/s measured"},
                             .bf16 = {16e9, "bf16 16 GFLOP/s measured"}};
    const auto devices = slots_of({.count = 2}, share);
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_EQ(devices[1].index, 1);
    EXPECT_EQ(devices[1].kind, "cpu");
    EXPECT_EQ(devices[1].num_threads, 2);
    EXPECT_EQ(devices[1].memory, Bytes{1000});
    EXPECT_EQ(devices[1].peak(Precision::fp32), (Peak{1.6e9, share.fp32.name}));
    EXPECT_EQ(devices[1].peak(Precision::bf16), (Peak{3.2e9, share.bf16.name}));
}

// Two ranks that filled two cores of four slots had an MFU of 130 %.
TEST(Inventory, ASlotOfACrowdedMachineHasThePeakOfOneCore) {
    const Peak machine{8e9, "fp32 8 GFLOP/s measured"};
    const auto device =
        slots_of({.count = 1}, {.num_slots = 64, .num_cores = 2, .fp32 = machine})[0];
    EXPECT_EQ(device.num_threads, 1);
    EXPECT_EQ(device.peak(Precision::fp32), (Peak{4e9, machine.name}));
}

TEST(Devices, AreCpuSlotsOrGpus) {
    EXPECT_EQ(parse_device_offer("cpu:4")->count, 4);
    EXPECT_EQ(parse_device_offer("cuda:all")->library, DeviceLibrary::cuda);
    EXPECT_TRUE(parse_device_offer("cuda:all")->gpus.empty());
    EXPECT_EQ(parse_device_offer("cuda:0,2")->gpus, (std::vector<int>{0, 2}));
    EXPECT_EQ(parse_device_offer("cuda:7")->count, 1);
    EXPECT_EQ(parse_device_offer("emu:2")->library, DeviceLibrary::emu);
    for (const char* wrong : {"", "cpu", "cpu:", "cpu:0", "cpu:-1", "cpu:2000", "cpu:2x", "cuda",
                              "cuda:", "cuda:-1", "cuda:0,", "cuda:0,0", "cuda:two", "rocm:0"}) {
        const auto refused = parse_device_offer(wrong);
        ASSERT_FALSE(refused.ok()) << wrong;
        EXPECT_THAT(refused.error().message, HasSubstr(format("'{}'", wrong)));
    }
    EXPECT_THAT(parse_device_offer("cuda:0,0").error().message,
                HasSubstr("device 0 is there twice; cuda:all, or numbers such as cuda:0,2"));
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
    EXPECT_TRUE(check_data_address_option("auto").ok());
    EXPECT_FALSE(check_data_address("auto").ok());
    EXPECT_THAT(check_data_address_option("8.8.8.8").error().message, HasSubstr(", or auto"));
}

InterfaceAddress up(const std::string& interface, const std::string& address) {
    return {.interface = interface, .at = {address, "of " + interface}, .is_up = true};
}

std::vector<std::string> texts(const std::vector<DataAddress>& addresses) {
    std::vector<std::string> texts;
    for (const DataAddress& one : addresses)
        texts.push_back(one.address);
    return texts;
}

TEST(DataAddresses, ArePrivateOnesOfInterfacesThatLeadOut) {
    std::vector<InterfaceAddress> all = {
        up("lo", "127.0.0.1"),         up("lo", "::1"),
        up("eth0", "10.0.0.5"),        up("eth0", "fd00::5"),
        up("eth0", "fe80::5"),         up("eth0", "8.8.8.8"),
        up("ib0", "10.1.0.5"),         up("docker0", "172.17.0.1"),
        up("br-0a1b2c", "172.18.0.1"), up("virbr0", "192.168.122.1"),
        up("veth12", "10.5.0.1"),      up("mybridge", "10.6.0.1"),
        up("br0", "192.168.7.5"),      up("eth2", "10.8.0.5"),
        up("eth3", "169.254.3.4")};
    all[11].is_bridge = true;
    all[13].is_up = false;
    using Texts = std::vector<std::string>;
    EXPECT_EQ(texts(data_candidates("10.1.0.5", all)),
              (Texts{"10.1.0.5", "10.0.0.5", "192.168.7.5"}));
    EXPECT_EQ(data_candidates("10.1.0.5", all)[0].network, "of ib0");
    EXPECT_EQ(texts(data_candidates("fd00::5", all)), (Texts{"fd00::5"}));
    EXPECT_EQ(texts(data_candidates("127.0.0.1", all)), (Texts{"127.0.0.1"}))
        << "a controller on loopback has no other machines";
    EXPECT_EQ(texts(data_candidates("172.17.0.1", all)),
              (Texts{"172.17.0.1", "10.0.0.5", "10.1.0.5", "192.168.7.5"}))
        << "the controller is reached from there";
    EXPECT_EQ(pinned_candidate("10.1.0.5", all), (DataAddress{"10.1.0.5", "of ib0"}));
    EXPECT_EQ(pinned_candidate("127.0.0.9", all), (DataAddress{"127.0.0.9", ""}));
}

TEST(DataAddresses, AreAtMostSix) {
    std::vector<InterfaceAddress> all;
    for (int i = 0; i < 9; ++i)
        all.push_back(up(format("eth{}", i), format("10.{}.0.1", i)));
    const auto offered = data_candidates("10.8.0.1", all);
    EXPECT_EQ(offered.size(), kMaxDataAddresses);
    EXPECT_EQ(offered[0].address, "10.8.0.1");
    EXPECT_EQ(offered[5].address, "10.4.0.1");
}

TEST(DataAddresses, OfThisMachineHaveTheirNetworks) {
    const std::vector<InterfaceAddress> all = interface_addresses();
    const auto loopback = std::find_if(all.begin(), all.end(), [](const InterfaceAddress& one) {
        return one.at.address == "127.0.0.1";
    });
    ASSERT_NE(loopback, all.end());
    EXPECT_EQ(*loopback, (InterfaceAddress{"lo", {"127.0.0.1", "127.0.0.0/8"}, true, false}));
}

TEST(DataAddress, OfLoopbackIsUnreachableUnderAControllerElsewhere) {
    for (const char* elsewhere : {"10.0.0.1:7070", "controller.lab:7070", "[fd00::1]:7070"}) {
        EXPECT_THAT(why_unreachable("127.0.0.1", elsewhere), HasSubstr("--data-address"));
        EXPECT_THAT(why_unreachable("::1", elsewhere), HasSubstr("::1 is a loopback address"));
        EXPECT_EQ(why_unreachable("10.0.0.2", elsewhere), "");
    }
    for (const char* here : {"127.0.0.1:7070", "localhost:7070", "unix:/run/c.sock", "[::1]:7070"})
        EXPECT_EQ(why_unreachable("127.0.0.1", here), "") << here;
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

TEST(Identity, WithAnEpochThatNoControllerGivesOutIsRefused) {
    const TempDir dir;
    const std::string path = dir.path() + "/identity.json";
    for (const char* epoch : {"9223372036854775807", "72057594037927937", "-1"}) {
        const std::string text =
            format(R"({{"node_id":"n1","cluster_id":"c1","highest_epoch":{}}})", epoch);
        ASSERT_TRUE(write_file_atomically(path, text).ok());
        const Result<Identity> absurd = load_identity(path);
        ASSERT_FALSE(absurd.ok()) << epoch;
        EXPECT_EQ(absurd.error().code, ErrorCode::data_loss);
        EXPECT_EQ(absurd.error().message,
                  format("{} says that node n1 has seen epoch {}, which no controller gives out; a "
                         "new state directory makes a new node",
                         path, epoch));
        EXPECT_EQ(*read_small_file(path), text) << "it is not replaced";
    }
    ASSERT_TRUE(save_identity(path, {{"n1"}, {"c1"}, {1'800'000'000}}).ok());
    EXPECT_TRUE(load_identity(path).ok()) << "a restored controller counts from the time";
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
