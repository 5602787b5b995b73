#include "cli/client/calls.h"
#include "cli/client/signals.h"
#include "cli/show/link_tables.h"
#include "cli/show/text.h"
#include "cli/verbs/common.h"
#include "ringmaster/v1/topology.grpc.pb.h"

namespace rm {
namespace {

struct SurveyNowOptions : VerbOptions {
    bool wait = add("--wait", wait, "Wait until it has ended");
    OutputFormat output = add_output(output, "name|json|yaml", OutputFormat::name);
};

constexpr Seconds kLook{0.5};

// True when the survey has ended; false when Ctrl-C came first.
Result<bool> wait_for(Client& client, std::int64_t number, Console& console) {
    const Signals signals;
    std::string shown;
    while (!signals.token().stop_requested()) {
        RM_TRY(const pb::SurveyState survey, survey_state(client));
        if (survey.last() >= number) return true;
        std::string line =
            format("survey {}: step {} of {}", number, survey.steps_done(), survey.steps_known());
        const bool news = console.err.terminal && survey.running() == number && line != shown;
        if (news) console.note(shown = std::move(line));
        signals.wait_for(kLook);
    }
    return false;
}

Result<ExitCode> run_survey(const SurveyNowOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    RM_TRY(const pb::SurveyReply reply, client.call(&pb::TopologyService::Stub::Survey, {}));
    Console& console = context.console;
    console.note(format("Survey {} ({}) {}", reply.survey(), counted(reply.nodes(), "node"),
                        options.wait ? "is running" : "scheduled; results: `ringmaster links`"));
    if (options.wait) {
        RM_TRY(const bool ended, wait_for(client, reply.survey(), console));
        if (!ended) return ExitCode::interrupted;
        RM_TRY(const pb::LinksReply links, read_links(client));
        console.note(survey_line(links.survey()));
        print_degraded(console.err, links, context.clock.wall());
    }
    print_reply(console.out, options.output, reply,
                [&] { console.out.stream << reply.survey() << '\n'; });
    return ExitCode::ok;
}

}  // namespace

Verb survey_verb() {
    return verb_of("survey", "Measure every link again", run_survey,
                   {{"ringmaster survey --wait", "measure all links now"}});
}

}  // namespace rm
