#include "controller/http/live_feed.h"

#include <vector>

#include "base/text.h"
#include "controller/http/json_api.h"
#include "controller/ops/views.h"

namespace rm {
namespace {

constexpr Seconds kLook{0.2};
constexpr int kLooksPerNodes = 5;  // nodes change rarely
constexpr int kLooksAfterEnd = 50;

struct JobNews {
    std::uint64_t version = 0;
    std::vector<JobId> changed;
    std::vector<JobId> live;
};

JobNews news_since(const State& state, std::uint64_t version) {
    JobNews news{.version = state.version};
    for (const auto& [id, revision] : state.revisions) {
        if (revision > version) news.changed.push_back(id);
    }
    news.live.assign(state.live_jobs.begin(), state.live_jobs.end());
    return news;
}

// A placement of 512 ranks is larger than all the rest.
pb::Job short_form(pb::Job job) {
    job = without_text(std::move(job));
    for (pb::Attempt& attempt : *job.mutable_attempts())
        attempt.clear_placement();
    return job;
}

std::vector<pb::Node> view_nodes(const State& state, WallTime now) {
    const auto holders = device_holders(state);
    std::vector<pb::Node> nodes;
    for (const Node* node : nodes_by_registration(state)) {
        nodes.push_back(to_message(state, *node, holders, now));
        nodes.back().clear_last_seen();
        nodes.back().clear_profiles();
    }
    return nodes;
}

}  // namespace

LiveFeed::LiveFeed(OpsContext& ops, const std::string& name)
    : ops_(ops), feed_(name), loop_([this](auto&) { return look(); }) {}

Seconds LiveFeed::look() {
    if (feed_.num_readers() == 0) {
        version_ = ops_.control.read([](const State& state) { return state.version; });
        followed_.clear();
        return kLook;
    }
    const std::uint64_t count = ops_.updates.count();
    if (count != seen_ || !followed_.empty()) follow_jobs();
    seen_ = count;
    if (++look_ % kLooksPerNodes == 0) publish_nodes();
    return kLook;
}

void LiveFeed::follow_jobs() {
    const JobNews news =
        ops_.control.read([&](const State& state) { return news_since(state, version_); });
    version_ = news.version;
    for (const JobId& id : news.changed)
        publish_job(id);
    for (const JobId& id : news.live)
        followed_[id].looks_left = kLooksAfterEnd;
    for (auto& [id, followed] : followed_) {
        publish_reports(id, followed);
        --followed.looks_left;
    }
    std::erase_if(followed_, [](const auto& entry) { return entry.second.looks_left == 0; });
}

void LiveFeed::publish_job(const JobId& id) {
    const auto job = view_job(ops_, id.value);
    if (!job) return;
    const auto text = json_text(short_form(*job));
    if (text) feed_.publish("job", format("{{\"job\":{}}}", *text));
}

void LiveFeed::publish_reports(const JobId& id, Followed& followed) {
    const auto publish = [&](PieceKind kind, std::int64_t& last, const char* name, auto message) {
        const auto kept = ops_.telemetry.last(id, kind);
        if (!kept || !*kept || (*kept)->id == last) return;
        last = (*kept)->id;
        const auto text = json_text(message(**kept));
        if (text) feed_.publish(name, format("{{\"jobId\":\"{}\",\"{}\":{}}}", id, name, *text));
    };
    publish(PieceKind::step, followed.step, "step", step_message);
    publish(PieceKind::evaluation, followed.evaluation, "evaluation", evaluation_message);
    publish(PieceKind::suite, followed.suite, "suite", suite_message);
}

void LiveFeed::publish_nodes() {
    const WallTime now = ops_.clock.wall();
    const std::vector<pb::Node> nodes =
        ops_.control.read([&](const State& state) { return view_nodes(state, now); });
    for (const pb::Node& node : nodes) {
        const auto text = json_text(node);
        std::string& last = nodes_[{node.id()}];
        if (!text || *text == last) continue;
        last = *text;
        feed_.publish("node", format("{{\"node\":{}}}", last));
    }
}

}  // namespace rm
