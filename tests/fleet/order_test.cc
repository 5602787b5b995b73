#include <gtest/gtest.h>

#include <filesystem>

#include "cli/fleet/machine_text.h"
#include "cli/fleet/operations.h"
#include "cli/fleet/shape_price.h"
#include "cli/fleet/startup_script.h"
#include "service/state_dir.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

const Shape kTen{.name = "l40s-48gb.10x",
                 .gpu = "l40s-48gb",
                 .num_gpus = 10,
                 .num_cores = 80,
                 .memory_gb = 1440};

Rates at(double price) {
    return {.price = {.per_device_hour = price, .currency = "USD", .date = "2026-11-01"}};
}

TEST(ShapePrice, ComesFromTheShapeItsFamilyOrItsDevice) {
    EXPECT_DOUBLE_EQ(price_of(kTen, {{"L40S", at(1.5)}}).per_hour, 15);
    EXPECT_DOUBLE_EQ(price_of(kTen, {{"L40S", at(1.5)}, {"l40s-48gb", at(1.2)}}).per_hour, 12);
    EXPECT_DOUBLE_EQ(price_of(kTen, {{"l40s-48gb", at(1.2)}, {"l40s-48gb.10x", at(1)}}).per_hour,
                     10);
    EXPECT_DOUBLE_EQ(price_of(kTen, {{"L4", at(1)}, {"H100", at(3)}}).per_hour, 0);
}

TEST(OrderLines, SayWhatItCostsBeforeAnyoneIsAsked) {
    const MachineOrder order{
        .prefix = "ring", .count = 4, .shape = kTen.name, .location = "us-east1-a"};
    const auto lines = order_lines(order, kTen, price_of(kTen, {{"L40S", at(1.5)}}));
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0],
              "4 machines of l40s-48gb.10x (10 x l40s-48gb, 80 cores, 1440 GB each) in us-east1-a: "
              "ring-1 to ring-4");
    EXPECT_NE(lines[1].find("60.00 USD per hour, 1440.00 USD per day"), std::string::npos)
        << lines[1];
    EXPECT_NE(order_lines(order, kTen, {})[1].find("--price"), std::string::npos);
}

TEST(PickMachines, DeletesNothingWhenOneNameIsUnknown) {
    const std::vector<Machine> machines = {
        {.id = "1", .name = "a"}, {.id = "2", .name = "b"}, {.id = "3", .name = "b"}};
    EXPECT_EQ(pick_machines(machines, {"a", "3", "1"}).value().size(), 2u);
    const Error unknown = pick_machines(machines, {"a", "x", "y"}).error();
    EXPECT_EQ(unknown.code, ErrorCode::not_found);
    EXPECT_NE(unknown.message.find("'x', 'y'"), std::string::npos) << unknown.message;
    EXPECT_EQ(pick_machines(machines, {"b"}).error().code, ErrorCode::invalid_argument);
}

class StartupScript : public testing::Test {
protected:
    StartupScript() {
        token_file_ = dir_ / "token";
        EXPECT_TRUE(write_file_atomically(token_file_, token_ + "\n").ok());
    }
    Result<std::string> script(std::string controller = "10.0.0.1:7070", std::string print = "",
                               std::vector<std::string> roots = {}) {
        if (print.empty()) print = "sha256:" + std::string(64, 'a');
        return startup_script({controller, token_file_, print, std::move(roots)});
    }
    const std::string token_ = "rm_" + std::string(64, '7');
    TempDir dir_;
    std::string token_file_;
};

TEST_F(StartupScript, PutsTheTokenIntoAFileAndIntoNoCommand) {
    const std::string text = script().value();
    const std::size_t at = text.find(token_);
    ASSERT_NE(at, text.npos);
    EXPECT_EQ(text.find(token_, at + 1), text.npos);
    EXPECT_EQ(text[at - 1], '\n') << "a line of its own, in a here-document";
    EXPECT_LT(text.find("umask 077"), at);
    EXPECT_NE(text.find("controller: 10.0.0.1:7070\n"), text.npos);
    EXPECT_EQ(text.find('@'), text.npos) << "no place is left open";
}

TEST_F(StartupScript, DeclaresTheRootsOfTheOtherWorkers) {
    const std::string two = script("10.0.0.1:7070", "", {"data=/srv/data", "s=/mnt/s-1"}).value();
    EXPECT_NE(two.find("\nroot:\n  - data=/srv/data\n  - s=/mnt/s-1\nEND_OF"), two.npos) << two;
    EXPECT_EQ(script().value().find("root:"), std::string::npos);
    for (const char* wrong : {"data", "=/srv", "data=srv", "data=/a b", "d=/$(reboot)", "a=/x\ny"})
        EXPECT_FALSE(script("10.0.0.1:7070", "", {wrong}).ok()) << wrong;
}

TEST_F(StartupScript, RefusesWhatWouldBeCode) {
    EXPECT_FALSE(script("10.0.0.1").ok());
    EXPECT_FALSE(script("$(reboot):7070").ok());
    EXPECT_FALSE(script("10.0.0.1:7070", "sha256:" + std::string(63, 'a')).ok());
    EXPECT_FALSE(script("10.0.0.1:7070", "md5:" + std::string(64, 'a')).ok());
    std::filesystem::permissions(token_file_, std::filesystem::perms::others_read,
                                 std::filesystem::perm_options::add);
    EXPECT_EQ(script().error().code, ErrorCode::permission_denied);
}

}  // namespace
}  // namespace rm
