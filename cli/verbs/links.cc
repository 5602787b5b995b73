#include "cli/document.h"
#include "cli/link_tables.h"
#include "cli/links_file.h"
#include "cli/node_names.h"
#include "cli/verbs/verbs.h"

namespace rm {
namespace {

// True when it has been printed.
bool print_as_document(const Output& out, OutputFormat format,
                       const google::protobuf::Message& message) {
    if (format != OutputFormat::json && format != OutputFormat::yaml) return false;
    print_document(out.stream, message, document_format(format));
    return true;
}

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

}  // namespace

Result<ExitCode> run_verb(const LinksOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    const Output& out = context.console.out;
    if (!options.from.empty()) {
        RM_TRY(const std::vector<std::string> ends, find_nodes(client, {options.from, options.to}));
        RM_TRY(const pb::LinkHistoryReply history,
               client.link_history(ends[0], ends[1], options.limit));
        if (!print_as_document(out, options.output, history))
            link_history_table(history).print(out);
        return ExitCode::ok;
    }
    RM_TRY(const pb::LinksReply links, client.links());
    if (options.output == OutputFormat::json) {
        // What `place --links` reads.
        out.stream << out.data(links_text(graph_of(links)));
    } else if (!print_as_document(out, options.output, links)) {
        print_map(out, links, options, context.clock.wall());
    }
    return ExitCode::ok;
}

}  // namespace rm
