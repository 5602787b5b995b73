#pragma once

#include <optional>

#include "planner/snapshot.h"
#include "spec/cost/cost_members.h"
#include "spec/job_members.h"
#include "spec/plan_members.h"
#include "topology/members.h"

// The members of what a planning child reads and writes, for every form: see spec/member.h.
namespace rm {

// The wire form of a PlanDecision: a plan, or else every reason against.
struct SentDecision {
    JobId job;
    std::optional<Plan> plan;
    Reasons reasons;
};

template <typename Visit>
void describe(Visit& visit, Like<Reason> auto& reason) {
    auto& [text, remedy, kind] = reason;
    visit_named(visit, {"text", "remedy", "kind"}, text, remedy, kind);
}

template <typename Visit>
void describe(Visit& visit, Like<PlanningJob> auto& job) {
    auto& [id, spec, waiting_since, excluded, waits, files, spent] = job;
    visit_named(visit, {"job_id", "spec", "waiting_since_micros", "excluded", "waits", "spent_usd"},
                id, spec, waiting_since, excluded, waits, spent);
    visit(Member{.name = "files", .written = Written::index_or_none}, files);
}

template <typename Visit>
void describe(Visit& visit, Like<PlanningFiles::Place> auto& node) {
    auto& [against, place] = node;
    visit_named(visit, {"against", "place"}, against, place);
}

template <typename Visit>
void describe(Visit& visit, Like<PlanningFiles> auto& files) {
    auto& [nodes, reasons, waits] = files;
    visit_named(visit, {"places", "reasons", "waits"}, nodes, reasons, waits);
}

template <typename Visit>
void describe(Visit& visit, Like<PlanningDevice> auto& device) {
    auto& [id, kind, build, nccl, availability, held_by, memory, host_memory, num_threads,
           profile] = device;
    visit_named(visit,
                {"device", "kind", "build", "nccl", "availability", "held_by", "memory_bytes",
                 "host_memory_bytes", "num_threads"},
                id, kind, build, nccl, availability, held_by, memory, host_memory, num_threads);
    visit(Member{.name = "profile", .written = Written::index_or_none}, profile);
}

template <typename Visit>
void describe(Visit& visit, Like<MeasuredSpeeds> auto& profile) {
    auto& [bf16, fp32, bf16_correction, fp32_correction] = profile;
    visit_named(visit, {"bf16", "fp32", "bf16_correction", "fp32_correction"}, bf16, fp32,
                bf16_correction, fp32_correction);
}

// `behind` is not sent: the pass does not look at those jobs.
template <typename Visit>
void describe(Visit& visit, Like<PlanningSnapshot> auto& snapshot) {
    auto& [version, now, max_bypass, pending, behind, devices, files, links, profiles, advise,
           by_rule, prices, recorded] = snapshot;
    visit_named(visit,
                {"version", "now_micros", "max_bypass_seconds", "pending", "devices", "files",
                 "links", "profiles", "advise", "by_rule", "prices", "recorded"},
                version, now, max_bypass, pending, devices, files, links, profiles, advise, by_rule,
                prices, recorded);
}

template <typename Visit>
void describe(Visit& visit, Like<SentDecision> auto& decision) {
    auto& [job, plan, reasons] = decision;
    visit_named(visit, {"job_id", "plan", "reasons"}, job, plan, reasons);
}

}  // namespace rm
