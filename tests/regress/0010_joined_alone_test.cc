#include "tests/controller/survey/simulated_survey.h"

// A new worker that joined first after a restart of the controller counted as already known: its
// links were measured six hours later.
namespace rm::test {
namespace {

TEST(Regress0010, ANodeThatCameFirstIsSurveyedOnceThereAreTwo) {
    const SurveyTime now{{1'750'000'000'000'000}, {1'000'000'000}};
    LinkBook book;
    book.nodes[{"known"}] = {};
    SurveyCore core({.automatic = true, .settle = Seconds{10}}, book, 1);
    const SurveyNode fresh{.id = {"new"}, .address = "10.0.0.1", .probe_port = 7080};
    const SurveyNode known{.id = {"known"}, .address = "10.0.0.2", .probe_port = 7080};
    core.set_nodes({fresh}, now);
    core.set_nodes({fresh, known}, now);
    EXPECT_NEAR((core.due() - now.mono).value, 10, 1e-3);
}

}  // namespace
}  // namespace rm::test
