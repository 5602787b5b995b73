#include "service/job_file/price_list.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

struct PriceLists : testing::Test {
    TempDir directory;
    Result<PriceList> read(const std::string& text) {
        const std::string path = directory.file("prices.yaml");
        std::ofstream(path) << text;
        return read_price_list(path);
    }
    std::string error(const std::string& text) {
        const auto list = read(text);
        if (list) return "it is fine";
        const std::string& message = list.error().message;
        return message.substr(message.find("prices.yaml"));
    }
};

TEST_F(PriceLists, HaveARateForEachKind) {
    const PriceList list =
        read(
            "L40S:\n"
            "  price: {per_device_hour: 1.45, currency: USD, date: 2026-11-01, provider: p, "
            "commitment: c}\n"
            "  power: {device_watts: 350, host_watts: 70, pue: 1.25, grams_co2_per_kwh: 380}\n"
            "cpu: {price: {per_device_hour: 0.05, currency: EUR, date: 2026-11-02}}\n")
            .value();
    ASSERT_EQ(list.size(), 2u);
    EXPECT_EQ(list.at("L40S"),
              (Rates{{1.45, "USD", "p", "c", "2026-11-01"}, {350, 70, 1.25, 380}}));
    EXPECT_EQ(list.at("cpu"), (Rates{{0.05, "EUR", "", "", "2026-11-02"}, {}}));
}

TEST_F(PriceLists, TheExampleIsOne) {
    const auto list = read_price_list(std::string(RM_EXAMPLES) + "/fleets/prices.yaml");
    ASSERT_TRUE(list.ok()) << list.error().message;
    EXPECT_TRUE(list->contains("L40S") && list->contains("cpu"));
}

TEST_F(PriceLists, NameWhatIsWrong) {
    EXPECT_EQ(error("cpu: {price: {per_device_hour: 1, currency: USD}}\n"),
              "prices.yaml:1:14: required key 'date' is missing in cpu.price");
    EXPECT_EQ(error("cpu: {power: {device_watts: 1, pue: 0.5}}\n"),
              "prices.yaml:1:6: cpu: pue: 0.5 must be 1 or more");
    EXPECT_EQ(error("cpu: {price: {per_device_hour: 0, currency: USD, date: 2026-11-01}}\n"),
              "prices.yaml:1:14: cpu.price: per_device_hour is 0; it must be above 0");
    EXPECT_NE(error("cpu: {price: {per_device_hour: 1, currency: usd, date: 2026-11-01}}\n")
                  .find("currency 'usd' must be three capital letters"),
              std::string::npos);
    for (const char* text : {"", "# nothing\n", "[1]\n", "5\n"})
        EXPECT_NE(error(text).find("must be a map by kind of device"), std::string::npos) << text;
    EXPECT_NE(error("cpu: {prize: 1}\n").find("did you mean 'price'?"), std::string::npos);
    EXPECT_NE(read_price_list("/no/such/prices.yaml").error().message.find("cannot be read"),
              std::string::npos);
}

}  // namespace
}  // namespace rm::test
