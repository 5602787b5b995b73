#include <algorithm>
#include <charconv>

#include "controller/ops/ops.h"
#include "service/convert/convert.h"

namespace rm {
namespace {

// A page of this many bytes takes no further row. gRPC limits messages to 4 MiB; a row of 10,000
// nodes takes 2 MiB.
constexpr std::size_t kFullPage = 1 << 20;

std::vector<KnownNode> nodes_in_order(const State& state) {
    std::vector<KnownNode> nodes;
    for (const Node* node : nodes_by_registration(state))
        nodes.push_back({node->id, node->inventory.hostname});
    return nodes;
}

int group_of(const LinkBook& book, const NodeId& node) {
    for (std::size_t group = 0; group < book.groups.size(); ++group) {
        const auto& members = book.groups[group].nodes;
        if (std::find(members.begin(), members.end(), node) != members.end())
            return static_cast<int>(group);
    }
    return 0;
}

void fill(pb::SurveyedNode& out, const SurveyedNode& node) {
    out.set_egress(node.egress.value);
    out.set_ingress(node.ingress.value);
    out.set_devices(node.num_devices);
    for (const InsideSample& sample : node.inside) {
        pb::DeviceLink& link = *out.add_inside();
        link.set_from(sample.from);
        link.set_to(sample.to);
        link.set_bandwidth(sample.rate.value);
        link.set_latency(sample.latency.value);
    }
    for (const BridgeSample& sample : node.bridges) {
        pb::DeviceBridge& bridge = *out.add_bridges();
        bridge.set_name(sample.name);
        bridge.mutable_devices()->Assign(sample.devices.begin(), sample.devices.end());
        bridge.set_up(sample.up.value);
        bridge.set_down(sample.down.value);
    }
}

void fill(pb::NodeLink& out, const LinkState& state) {
    out.set_jitter(state.jitter.value);
    out.set_loss(state.loss);
    *out.mutable_measured() = to_proto(state.measured);
    out.set_alone(state.alone);
    out.set_baseline(state.baseline.value);
    if (state.degraded) *out.mutable_degraded() = to_proto(*state.degraded);
}

void fill(pb::SharedCable& out, const Trunk& trunk, const LinkGraph& graph) {
    out.set_name(trunk.name);
    out.set_bandwidth(trunk.bandwidth.value);
    for (const int node : trunk.from)
        out.add_from(graph.nodes[usize(node)].id.value);
    for (const int node : trunk.to)
        out.add_to(graph.nodes[usize(node)].id.value);
}

void fill(pb::SurveyState& out, const SurveyView& view) {
    out.set_running(view.progress.running);
    out.set_last(view.progress.last);
    out.set_pending(view.progress.pending);
    out.set_steps_done(static_cast<std::int64_t>(view.progress.steps_done));
    out.set_steps_known(static_cast<std::int64_t>(view.progress.steps_known));
    out.set_waits_for_budget(view.progress.waits_for_budget);
    if (!view.last) return;
    out.set_nodes(view.last->num_nodes);
    out.set_measured_links(view.last->num_links);
    out.set_failed_probes(view.last->num_failed);
    out.set_seconds((view.last->ended - view.last->started).value);
    for (const std::string& error : view.last->errors)
        out.add_errors(error);
}

void fill(pb::SurveyedNode& out, const KnownNode& node, const LinkBook& book) {
    out.set_id(node.id.value);
    out.set_hostname(node.hostname);
    out.set_group(group_of(book, node.id));
    fill(out, book.nodes.at(node.id));
}

// All links that this node of the outline sends on.
void add_row(pb::LinksReply& reply, const LinkBook& book, const LinkGraph& outline, int from) {
    const std::vector<Link> row = book.row(outline, from);
    for (int to = 0; to < outline.num_nodes(); ++to) {
        if (from == to) continue;
        const Link& link = row[usize(to)];
        const LinkEnds ends{outline.nodes[usize(from)].id, outline.nodes[usize(to)].id};
        pb::NodeLink& out = *reply.add_links();
        out.set_from(ends.first.value);
        out.set_to(ends.second.value);
        out.set_bandwidth(link.bandwidth.value);
        out.set_flow(link.flow.value);
        out.set_latency(link.latency.value);
        const auto measured = book.links.find(ends);
        if (measured != book.links.end()) fill(out, measured->second);
    }
}

// The beginning of a page and the survey that it belongs to.
struct PageStart {
    std::int64_t survey = 0;  // the last survey that had ended
    std::int64_t nodes = 0;   // in that survey
    std::int64_t row = 0;
};

std::string to_token(const PageStart& start) {
    return format("{}.{}.{}", start.survey, start.nodes, start.row);
}

Result<PageStart> parse_token(const std::string& token) {
    PageStart start;
    const char* const end = token.data() + token.size();
    const char* at = token.data();
    for (std::int64_t* number : {&start.survey, &start.nodes, &start.row}) {
        at = std::from_chars(at, end, *number).ptr;
        if (at != end) ++at;
    }
    if (to_token(start) == token && start.row >= 0) return start;
    return invalid_argument("'{}' is not a page token of this call", token);
}

Status check_start(const PageStart& start, const SurveyView& view, int num_nodes) {
    if (start.survey != view.progress.last || start.nodes != num_nodes) {
        return make_error(
            ErrorCode::aborted,
            "the earlier pages were of survey {}, but survey {} has ended since; begin "
            "again with the first page",
            start.survey, view.progress.last);
    }
    if (start.row < num_nodes) return {};
    return invalid_argument("page token: there is no node {}, there are {}", start.row, num_nodes);
}

}  // namespace

Result<pb::LinksReply> links_page(const std::vector<KnownNode>& known, const SurveyView& view,
                                  const pb::LinksRequest& request) {
    std::vector<NodeId> ids;
    for (const KnownNode& node : known)
        ids.push_back(node.id);
    const LinkGraph outline = view.book.outline(ids);
    PageStart at{view.progress.last, outline.num_nodes(), 0};
    pb::LinksReply reply;
    if (request.page_token().empty()) {
        for (const Trunk& trunk : outline.trunks)
            fill(*reply.add_cables(), trunk, outline);
        fill(*reply.mutable_survey(), view);
    } else {
        RM_TRY(at, parse_token(request.page_token()));
        RM_RETURN_IF_ERROR(check_start(at, view, outline.num_nodes()));
    }
    auto next = known.begin();
    const std::int64_t first = at.row;
    for (; at.row < at.nodes; ++at.row) {
        const bool is_full = request.page_size() > 0 && at.row - first >= request.page_size();
        if (is_full || (at.row > first && reply.ByteSizeLong() >= kFullPage)) {
            reply.set_next_page_token(to_token(at));
            break;
        }
        const NodeId& id = outline.nodes[usize(at.row)].id;
        next = std::find_if(next, known.end(), [&](const KnownNode& k) { return k.id == id; });
        fill(*reply.add_nodes(), *next, view.book);
        add_row(reply, view.book, outline, static_cast<int>(at.row));
    }
    return reply;
}

Result<pb::LinksReply> list_links(OpsContext& context, const SurveyLoop& surveys,
                                  const pb::LinksRequest& request) {
    return links_page(context.control.read(nodes_in_order), surveys.view(), request);
}

}  // namespace rm
