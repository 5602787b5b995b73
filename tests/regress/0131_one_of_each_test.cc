// Messages used the plural for one thing: "1 text files", "1 lines of JSON in 1 files", "survey 1
// measured 1 links of 1 nodes; 1 probes failed", "every 1 steps".
#include <gmock/gmock.h>

#include <sstream>

#include "cli/screen/progress_display.h"
#include "cli/show/describe_job.h"
#include "cli/show/link_tables.h"
#include "engine/data/data_format.h"
#include "engine/data/prepare.h"
#include "engine/data/tokens/megatron_writer.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/cli/show/sample_job.h"
#include "tests/support/temp_dir.h"

namespace rm {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string description(const std::string& path) {
    const auto source = open_tokens(find_data(path, "auto").value(), ByteTokenizer(), 257);
    return source ? (*source)->describe() : source.error().message;
}

TEST(Regress0131, DataOfOneFileSayOneFile) {
    TempDir dir;
    dir.write("text/a.txt", "hello");
    EXPECT_THAT(description(dir.file("text")), StartsWith("1 text file, 5 B"));
    dir.write("lines/a.jsonl", "{\"text\": \"hello\"}\n");
    EXPECT_THAT(description(dir.file("lines")), StartsWith("1 line of JSON in 1 file, "));
    dir.write("empty/a.txt", "");
    EXPECT_THAT(description(dir.file("empty")),
                HasSubstr("holds no text: 1 text file is there, and empty"));
    auto set = MegatronWriter::create(dir.file("set"), 257);
    ASSERT_TRUE(set) << set.error().message;
    ASSERT_TRUE(set->add_document(std::vector<TokenId>{7}).ok());
    ASSERT_TRUE(set->finish().ok());
    EXPECT_EQ(description(dir.file("set")), "1 token of uint16 in 1 document (Megatron, 1 file)");
}

TEST(Regress0131, SurveysOfOneLinkSayOneLink) {
    pb::SurveyState survey;
    survey.set_last(4);
    survey.set_nodes(1);
    survey.set_measured_links(1);
    survey.set_failed_probes(1);
    EXPECT_THAT(survey_line(survey), StartsWith("survey 4 measured 1 link of 1 node in "));
    EXPECT_THAT(survey_line(survey), HasSubstr("; 1 probe failed"));
}

TEST(Regress0131, JobsOfEveryStepSayOneStep) {
    pb::Job job = pending_job();
    job.mutable_spec()->mutable_checkpoint()->set_every_steps(1);
    std::ostringstream out;
    describe_job({out}, job, after_submission(1));
    EXPECT_THAT(out.str(), HasSubstr("checkpoint  every step, in "));
    EXPECT_THAT(prepare_line({.counts = {.documents = 1, .tokens = 1, .bytes = 5},
                              .stored_done = 5,
                              .stored_total = 10},
                             Seconds{0}),
                HasSubstr("1 document  1 token"));
}

}  // namespace
}  // namespace rm
