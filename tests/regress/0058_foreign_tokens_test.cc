// A token id beyond the vocabulary was only noticed when training reached it, hours into a run; the
// error for a line that is not JSON named no place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tests/support/train_run.h"

namespace rm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A file of llm.c: 1,024 bytes of header, then ids of 16 bits.
std::string llmc_file(const std::vector<std::uint16_t>& ids) {
    std::vector<std::int32_t> header(256, 0);
    header[0] = 20240520;
    header[1] = 1;
    header[2] = static_cast<std::int32_t>(ids.size());
    std::string file(reinterpret_cast<const char*>(header.data()), 1024);
    return file.append(reinterpret_cast<const char*>(ids.data()), ids.size() * 2);
}

TEST(Regress0058, AnIdBeyondTheVocabularyIsFoundBeforeTheFirstStep) {
    TempDir dir;
    std::vector<std::uint16_t> ids(400'000, 17);
    ids[399'990] = 60'000;
    dir.write("data/a.bin", llmc_file(ids));
    RankConfig config = test::micro_run(dir.file("data"), 128, 3);
    config.spec.data.format = "llmc";
    config.plan.mesh = Mesh::make(1, 2, 1, 1).value();
    const test::TrainRun run = test::run_training(config, test::cpu_backend(1));
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_THAT(run.outcome.error().message,
                AllOf(HasSubstr(dir.file("data/a.bin")), HasSubstr("token 399990 is 60000"),
                      HasSubstr("ids 0 to ")));
    EXPECT_TRUE(run.steps.empty());
}

TEST(Regress0058, ALineThatIsNotJsonIsToldWithItsByte) {
    TempDir dir;
    dir.write("data/a.jsonl", "{\"text\": \"good\"}\n{\"text\": \"b\xff\"}\n");
    RankConfig config = test::micro_run(dir.file("data"), 64, 1);
    config.spec.data.format = "jsonl";
    const test::TrainRun run = test::run_training(config, test::cpu_backend(1));
    ASSERT_FALSE(run.outcome.ok());
    EXPECT_THAT(run.outcome.error().message,
                AllOf(HasSubstr("a.jsonl:2: not JSON: byte 12: "), HasSubstr("UTF-8")));
}

}  // namespace
}  // namespace rm
