#pragma once

#include <optional>

#include "planner/snapshot.h"
#include "spec/job_members.h"
#include "topology/members.h"

// The members of what a planning child reads and writes, for every form: see spec/member.h.
namespace rm {

// A PlanDecision as it travels: a plan, or else every reason against.
struct SentDecision {
    JobId job;
    std::optional<Plan> plan;
    Reasons reasons;
};

template <typename Visit>
void describe(Visit& visit, Like<Reason> auto& reason) {
    auto& [text, remedy, kind] = reason;
    visit(named("text"), text);
    visit(named("remedy"), remedy);
    visit(named("kind"), kind);
}

template <typename Visit>
void describe(Visit& visit, Like<PlanningJob> auto& job) {
    auto& [id, spec, waiting_since, excluded, waits, files] = job;
    visit(named("job_id"), id);
    visit(named("spec"), spec);
    visit(named("waiting_since_micros"), waiting_since);
    visit(named("excluded"), excluded);
    visit(named("waits"), waits);
    visit(Member{.name = "files", .written = Written::index_or_none}, files);
}

template <typename Visit>
void describe(Visit& visit, Like<PlanningFiles::Place> auto& node) {
    auto& [against, place] = node;
    visit(named("against"), against);
    visit(named("place"), place);
}

template <typename Visit>
void describe(Visit& visit, Like<PlanningFiles> auto& files) {
    auto& [nodes, reasons, waits] = files;
    visit(named("places"), nodes);
    visit(named("reasons"), reasons);
    visit(named("waits"), waits);
}

template <typename Visit>
void describe(Visit& visit, Like<PlanningDevice> auto& device) {
    auto& [id, kind, build, availability, held_by] = device;
    visit(named("device"), id);
    visit(named("kind"), kind);
    visit(named("build"), build);
    visit(named("availability"), availability);
    visit(named("held_by"), held_by);
}

// Jobs that the pass does not look at do not travel.
template <typename Visit>
void describe(Visit& visit, Like<PlanningSnapshot> auto& snapshot) {
    auto& [version, now, max_bypass, pending, behind, devices, files, links] = snapshot;
    visit(named("version"), version);
    visit(named("now_micros"), now);
    visit(named("max_bypass_seconds"), max_bypass);
    visit(named("pending"), pending);
    visit(named("devices"), devices);
    visit(named("files"), files);
    visit(named("links"), links);
}

template <typename Visit>
void describe(Visit& visit, Like<Plan> auto& plan) {
    auto& [mesh, zero, placement, memory, timeout] = plan;
    visit(named("mesh", Presence::sent), mesh);
    visit(named("zero"), zero);
    visit(named("placement"), placement);
    visit(named("memory"), memory);
    visit(named("collective_timeout_seconds"), timeout);
}

template <typename Visit>
void describe(Visit& visit, Like<SentDecision> auto& decision) {
    auto& [job, plan, reasons] = decision;
    visit(named("job_id"), job);
    visit(named("plan"), plan);
    visit(named("reasons"), reasons);
}

}  // namespace rm
