#include "cli/client/calls.h"
#include "cli/input/links_file.h"
#include "cli/show/link_tables.h"
#include "cli/verbs/common.h"
#include "ringmaster/v1/topology.grpc.pb.h"

namespace rm {
namespace {

struct LinksOptions : VerbOptions {
    std::string from =
        add("FROM", from, "A node; with TO: every measurement of this link, newest first",
            {.needs = "TO"});
    std::string to = add("TO", to, "The node at the other end");
    bool matrix = add("--matrix", matrix, "Rates instead of shades");
    // 0: as many as the controller thinks right.
    int limit = add("--limit", limit, "Measurements of the history [100]", number_from(1));
    OutputFormat output = add_output(output, "table|json|yaml");
};

void print_map(const Output& out, const pb::LinksReply& links, const LinksOptions& options,
               WallTime now) {
    if (options.matrix) {
        rate_matrix(links).print(out);
    } else if (links.nodes_size() > 0) {
        print_heat_map(out, links);
        out.stream << '\n';
        surveyed_nodes_table(links).print(out);
    }
    print_cables(out, links);
    print_degraded(out, links, now);
    out.stream << survey_line(links.survey()) << '\n';
}

Result<ExitCode> run_links(const LinksOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    const Output& out = context.console.out;
    if (!options.from.empty()) {
        RM_TRY(const std::vector<std::string> ends, find_nodes(client, {options.from, options.to}));
        pb::LinkHistoryRequest request;
        request.set_from(ends[0]);
        request.set_to(ends[1]);
        request.set_limit(options.limit);
        RM_TRY(const pb::LinkHistoryReply history,
               client.call(&pb::TopologyService::Stub::LinkHistory, request));
        print_reply(out, options.output, history, [&] { link_history_table(history).print(out); });
        return ExitCode::ok;
    }
    RM_TRY(const pb::LinksReply links, read_links(client));
    if (options.output == OutputFormat::json) {
        // The format that `place --links` reads.
        out.stream << out.data(links_text(graph_of(links)));
    } else {
        print_reply(out, options.output, links,
                    [&] { print_map(out, links, options, context.clock.wall()); });
    }
    return ExitCode::ok;
}

}  // namespace

Verb links_verb() {
    return verb_of("links", "Show the measured links: a map, or the history of one", run_links,
                   {{"ringmaster links --matrix", "rates in numbers"},
                    {"ringmaster links node-1 node-7", "every measurement of one link"},
                    {"ringmaster links -o json", "a link file for `ringmaster place`"}});
}

}  // namespace rm
