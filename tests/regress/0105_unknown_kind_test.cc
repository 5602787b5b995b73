// A job for a kind of device that no node had ever offered was accepted without a warning, and
// waited for ever; only `explain` said why.
#include <gmock/gmock.h>

#include "tests/e2e/support/e2e_test.h"

namespace rm::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Regress0105 : public E2eTest {
protected:
    void SetUp() override { up_ = up(path("state"), {"--workers", "1"}); }
    void TearDown() override {
        if (up_) stop(*up_);
    }
    Finished submitted(const std::string& kind) {
        return at(
            path("state"),
            {"submit", write_job({.parallel = "{data: 1}",
                                  .extra = "precision: bf16\nresources: {kind: " + kind + "}\n"})});
    }

    std::unique_ptr<Process> up_;
};

TEST_F(Regress0105, SubmitWarnsOfAKindThatNoNodeHasEverOffered) {
    const Finished run = submitted("L40S");
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(at(path("state"), {"ls", "-o", "name"}).out, run.out) << "the job is accepted";
    EXPECT_THAT(run.err, HasSubstr("warning: resources.kind: no node has ever offered 'L40S', and "
                                   "the job waits until one does; the kinds of this cluster: cpu"));
    EXPECT_THAT(submitted("cpu").err, Not(HasSubstr("warning")));
}

}  // namespace
}  // namespace rm::e2e
