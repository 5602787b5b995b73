// A number beyond a double's range in a configuration ended ring-train by SIGABRT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/json/parse_json.h"
#include "engine/main/ring_train_config.h"
#include "engine/train/rank_config.h"
#include "worker/rank/report_line.h"

namespace rm {
namespace {

using testing::HasSubstr;

TEST(Regress0055, ANumberBeyondRangeIsAnErrorInEveryReader) {
    const std::string text = R"({"name": "x", "seed": 1e400})";
    for (const Status& read :
         {Status(parse_ring_train_config(text).error()), Status(parse_rank_config(text).error()),
          Status(parse_strict_json(text, 1024).error()), Status(parse_report_line(text).error())}) {
        EXPECT_FALSE(read.ok());
        EXPECT_THAT(read.error().message, HasSubstr("1e400"));
    }
}

TEST(Regress0055, AKeyThatIsThereTwiceIsAnError) {
    const auto config = parse_ring_train_config(R"({"name": "x", "name": "y"})");
    ASSERT_FALSE(config.ok());
    EXPECT_THAT(config.error().message, HasSubstr("holds the key 'name' twice"));
}

}  // namespace
}  // namespace rm
