#include <algorithm>

#include "base/words.h"
#include "cli/show/cluster_plan.h"
#include "cli/show/job_text.h"
#include "cli/show/table.h"
#include "cli/show/text.h"
#include "service/convert/convert.h"
#include "spec/report.h"

namespace rm {
namespace {

using Rows = google::protobuf::RepeatedPtrField<pb::RankedMesh>;

// The most that lives at once, with what is there all the time.
Bytes most_live(const pb::PlannedStep& step) {
    std::int64_t all = step.held_bytes();
    for (const auto& [kind, bytes] : step.state_bytes())
        all += memory_name(kind).on_host ? 0 : bytes;
    const auto& parts = step.device_bytes();
    if (!parts.empty()) all += *std::max_element(parts.begin(), parts.end());
    return {all};
}

std::string time_text(const pb::PlannedStep& step) {
    if (step.timed()) return format("a step takes {}", Seconds{step.length()});
    return "the time of a step is not known";
}

void print_step(const Output& out, const pb::PlanDetailReply& reply) {
    const pb::PlannedStep& step = reply.step();
    std::string text = format("attempt {}, on {}: {}; {} live at most", reply.attempt(),
                              step.kind(), time_text(step), most_live(step));
    if (step.device_capacity_bytes() > 0)
        text += format(", of {}", Bytes{step.device_capacity_bytes()});
    if (reply.has_predicted()) {
        text += format("; planned: {}, {}", Seconds{reply.predicted().step_seconds()},
                       Bytes{reply.predicted().device_bytes()});
    }
    print_hanging(out, "", 2, printable(text), usize(out.width));
}

template <typename Text>
auto predicted(const Text& text) {
    return [text](const pb::RankedMesh& row) {
        return row.has_predicted() ? Cell(text(row.predicted())) : Cell("-");
    };
}

std::string cost_of(const pb::RankedMesh& row) {
    return row.has_cost() ? to_string(from_proto(row.cost())) : "-";
}

Table table_of(const std::vector<pb::RankedMesh>& ranked) {
    using Row = const pb::RankedMesh&;
    using Prediction = const pb::PlanPrediction&;
    TableOf table(ranked);
    table.left("MESH", [](Row row) { return Cell(mesh_text(row.mesh(), row.zero())); });
    table.left("", [](Row row) { return Cell(row.chosen() ? "chosen" : ""); });
    table.right("STEP",
                predicted([](Prediction p) { return to_string(Seconds{p.step_seconds()}); }));
    table.right("ALL", predicted([](Prediction p) { return span_text(Seconds{p.all_seconds()}); }));
    table.right("DEVICE",
                predicted([](Prediction p) { return to_string(Bytes{p.device_bytes()}); }));
    table.right("HOST", predicted([](Prediction p) { return to_string(Bytes{p.host_bytes()}); }));
    table.right("MFU", [](Row row) {
        return Cell(row.causal_mfu() > 0 ? percent_text(row.causal_mfu()) : "-");
    });
    if (std::any_of(ranked.begin(), ranked.end(), [](Row row) { return row.fp8_mfu() > 0; })) {
        table.right("FP8 MFU", [](Row row) {
            return Cell(row.fp8_mfu() > 0 ? percent_text(row.fp8_mfu()) : "-");
        });
    }
    if (std::any_of(ranked.begin(), ranked.end(), [](Row row) { return row.has_cost(); }))
        table.right("COST", [](Row row) { return Cell(cost_of(row)); });
    return table.done();
}

void print_passed(const Output& out, const Rows& rows) {
    for (const pb::RankedMesh& row : rows) {
        if (row.passed_over().empty()) continue;
        print_hanging(out, format("  {}: ", mesh_text(row.mesh(), row.zero())), 4,
                      printable(row.passed_over()), usize(out.width));
    }
}

}  // namespace

void print_plan_detail(const Output& out, const pb::PlanDetailReply& reply) {
    print_step(out, reply);
    const pb::MeshRanking& ranking = reply.ranking();
    std::vector<pb::RankedMesh> ranked;
    std::copy_if(ranking.meshes().begin(), ranking.meshes().end(), std::back_inserter(ranked),
                 [](const pb::RankedMesh& row) { return row.passed_over().empty(); });
    out.stream << printable(format("meshes {}", ranking.basis())) << '\n';
    table_of(ranked).print(out);
    if (static_cast<int>(ranked.size()) < ranking.meshes_size()) out.stream << "not among them:\n";
    print_passed(out, ranking.meshes());
    for (const std::string& reason : ranking.reasons())
        print_hanging(out, "no other mesh is ranked: ", 2, printable(reason), usize(out.width));
}

}  // namespace rm
