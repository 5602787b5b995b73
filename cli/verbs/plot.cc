#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/text.h"
#include "cli/client/calls.h"
#include "cli/client/curves.h"
#include "cli/show/plot_text.h"
#include "cli/verb.h"
#include "cli/verbs/common.h"

namespace rm {
namespace {

constexpr int kDotsPerColumn = 2;
constexpr int kPicturePoints = 2000;  // of a curve in an SVG

struct PlotOptions : VerbOptions {
    std::string id = add("ID", id, kJobHelp, required_text());
    std::vector<std::string> versus = add("--vs", versus, "Other jobs, drawn into the same plots",
                                          {.type = "ID", .one_value = true});
    std::string quantity =
        add("--quantity", quantity,
            "What to plot, as in loss,causal_mfu,phase/attention; `list` names what the job has "
            "[loss,causal_mfu,tokens_per_second]",
            {.type = "NAME,..."});
    int rank = add("--rank", rank, "The rank whose curves to plot [0]", number_from(0), 0);
    std::int64_t from = add("--from", from, "First step", number_from(1), 1);
    std::int64_t to = add("--to", to, "Last step", number_from(1), 0);
    int height =
        add("--height", height, "Rows of a plot [12]", {.type = "N", .check = whole_number(3)}, 12);
    bool log = add("--log", log, "Logarithmic values");
    OutputFormat output = add_output(output, "table|csv|json|yaml|svg");
};

// The curves of one job.
struct JobCurves {
    std::string id;
    std::string label;
    pb::StepsReply reply;
};

const char* kUsual[] = {"loss", "causal_mfu", "tokens_per_second"};

std::vector<std::string> wanted(const PlotOptions& options, const pb::StepsReply& known) {
    std::vector<std::string> names;
    if (options.quantity.empty()) {
        // A machine without a known peak has no MFU.
        for (const char* name : kUsual) {
            if (std::find(known.quantities().begin(), known.quantities().end(), name) !=
                known.quantities().end())
                names.emplace_back(name);
        }
        return names;
    }
    for (const std::string_view name : split(options.quantity, ','))
        names.emplace_back(name);
    return names;
}

Result<pb::StepsReply> read_names(const Client& client, const std::string& id) {
    pb::StepsRequest request;
    request.set_job_id(id);
    return read_curves(client, request);
}

Result<JobCurves> read_job(Client& client, const std::string& text, const PlotOptions& options,
                           const std::vector<std::string>& quantities, int points) {
    RM_TRY(const std::string id, find_job(client, text));
    pb::StepsRequest request;
    request.set_job_id(id);
    request.mutable_quantities()->Add(quantities.begin(), quantities.end());
    request.add_ranks(options.rank);
    request.set_from_step(options.from);
    request.set_to_step(options.to);
    request.set_max_points(points);
    RM_TRY(pb::StepsReply reply, read_curves(client, request));
    return JobCurves{id, text == id ? id : format("{} {}", id, text), std::move(reply)};
}

int points_of(const PlotOptions& options, const Output& out) {
    if (options.output == OutputFormat::table) return kDotsPerColumn * std::max(out.width, 40);
    return options.output == OutputFormat::svg ? kPicturePoints : 0;
}

std::vector<Plot> plots_of(const std::vector<JobCurves>& jobs,
                           const std::vector<std::string>& quantities) {
    std::vector<Plot> plots;
    for (const std::string& quantity : quantities) {
        Plot plot{quantity, "", {}};
        for (const JobCurves& job : jobs) {
            for (const pb::Curve& curve : job.reply.curves()) {
                if (curve.quantity() != quantity) continue;
                plot.unit = curve.unit();
                plot.lines.push_back(line_of(curve, job.label));
            }
        }
        if (!plot.unit.empty()) plot.title += format(" ({})", plot.unit);
        plots.push_back(std::move(plot));
    }
    return plots;
}

// One row per step and job, one column per quantity.
void print_csv(const Output& out, const std::vector<JobCurves>& jobs,
               const std::vector<std::string>& quantities) {
    out.stream << "job,rank,step,time," << join(quantities, ",") << '\n';
    for (const JobCurves& job : jobs) {
        const int rank = job.reply.curves().empty() ? 0 : job.reply.curves(0).rank();
        for (const auto& [step, row] : rows_of(job.reply)) {
            out.stream << format("{},{},{},{}{}\n", job.id, rank, step, to_iso8601(row.time),
                                 csv_values(row, quantities));
        }
    }
}

void print_json_of(const Output& out, const std::vector<JobCurves>& jobs, OutputFormat format) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const JobCurves& job : jobs) {
        nlohmann::ordered_json curves = message_json(job.reply)["curves"];
        all.push_back({{"job", job.id}, {"curves", std::move(curves)}});
    }
    print_json(out.stream, all.dump(), format);
}

void print_plots(const Output& out, const std::vector<Plot>& plots, const PlotOptions& options) {
    const PlotScale scale = options.log ? PlotScale::logarithmic : PlotScale::linear;
    for (std::size_t i = 0; i < plots.size(); ++i) {
        if (i > 0) out.stream << '\n';
        for (const std::string& line :
             draw_plot(out, plots[i], {.width = out.width, .height = options.height}, scale))
            out.stream << line << '\n';
    }
}

Result<ExitCode> run_plot(const PlotOptions& options, VerbContext& context) {
    RM_TRY(Client client, context.connect());
    const Output& out = context.console.out;
    RM_TRY(const std::string first, find_job(client, options.id));
    RM_TRY(const pb::StepsReply known, read_names(client, first));
    if (options.quantity == "list") {
        for (const std::string& name : known.quantities())
            out.stream << out.data(name) << '\n';
        return ExitCode::ok;
    }
    const std::vector<std::string> quantities = wanted(options, known);
    if (quantities.empty()) {
        return make_error(ErrorCode::failed_precondition, "job {} has no steps yet", first);
    }
    std::vector<std::string> ids{options.id};
    ids.insert(ids.end(), options.versus.begin(), options.versus.end());
    std::vector<JobCurves> jobs;
    for (const std::string& id : ids) {
        RM_TRY(JobCurves job, read_job(client, id, options, quantities, points_of(options, out)));
        jobs.push_back(std::move(job));
    }
    if (is_document(options.output)) {
        print_json_of(out, jobs, options.output);
    } else if (options.output == OutputFormat::csv) {
        print_csv(out, jobs, quantities);
    } else if (options.output == OutputFormat::svg) {
        const PlotScale scale = options.log ? PlotScale::logarithmic : PlotScale::linear;
        out.stream << plots_svg(plots_of(jobs, quantities), scale);
    } else {
        print_plots(out, plots_of(jobs, quantities), options);
    }
    return ExitCode::ok;
}

}  // namespace

Verb plot_verb() {
    return verb_of(
        "plot", "Draw the curves of jobs", run_plot,
        {{"ringmaster plot a1b2c3", "loss, MFU and tokens/s"},
         {"ringmaster plot a1b2c3 --vs d4e5f6 --quantity loss --log", "two runs together"},
         {"ringmaster plot a1b2c3 -o csv", "every step, for a spreadsheet"}});
}

}  // namespace rm
