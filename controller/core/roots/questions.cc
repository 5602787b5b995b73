#include "controller/core/roots/questions.h"

#include <algorithm>

#include "controller/core/handlers.h"
#include "controller/core/jobs/make_snapshot.h"

namespace rm {
namespace {

// The questions about the jobs of the next pass, by key.
std::map<std::string, CheckFiles> wanted_checks(const State& state) {
    std::map<std::string, CheckFiles> wanted;
    for (const JobId& id : planned_jobs(state)) {
        CheckFiles check = files_needed(state, state.jobs.at(id)).check;
        wanted.try_emplace(check.key, std::move(check));
    }
    return wanted;
}

bool is_due(const NodeSession& session, const std::string& key, WallTime now) {
    const auto answer = session.files.find(key);
    if (answer == session.files.end()) return true;
    const bool answered = answer->second.answered >= answer->second.asked;
    return now - answer->second.asked > (answered ? kAnswerKept : kAnswerOverdue);
}

void ask(Step& step, const NodeId& id, const CheckFiles& check) {
    bool silent = false;
    step.change_session(id, [&](NodeSession& session) {
        FilesAnswer& answer = session.files[check.key];
        silent = answer.asked.micros != 0 && answer.answered.micros == 0;
        if (answer.asked.micros == 0) answer.first_asked = step.steady();
        answer.asked = step.steady();
    });
    // Stop waiting for nodes that do not answer.
    if (silent) step.planning_changed();
    step.send(id, check);
}

void ask_if_due(Step& step, const NodeId& id, const CheckFiles& check) {
    if (is_due(find_node(step.state(), id)->session, check.key, step.steady()))
        ask(step, id, check);
}

void forget_unwanted(Step& step, const NodeId& id,
                     const std::map<std::string, CheckFiles>& wanted) {
    const auto& files = find_node(step.state(), id)->session.files;
    const auto unwanted = [&](const auto& entry) { return !wanted.contains(entry.first); };
    if (std::none_of(files.begin(), files.end(), unwanted)) return;
    step.change_session(id, [&](NodeSession& session) { std::erase_if(session.files, unwanted); });
}

// Whether both answers mean the same. Free space changes all the time; small changes do not count.
bool same_facts(const std::vector<FileFacts>& before, const std::vector<FileFacts>& now) {
    return std::equal(before.begin(), before.end(), now.begin(), now.end(),
                      [](const FileFacts& a, const FileFacts& b) {
                          FileFacts with_space = b;
                          with_space.free = a.free;
                          return a == with_space && !differs_noticeably(a.free, b.free);
                      });
}

}  // namespace

bool questions_due(const State& state, WallTime now) {
    if (probes_due(state, now)) return true;
    if (state.declaring.empty()) return false;
    const auto wanted = wanted_checks(state);
    for (const NodeId& id : state.declaring) {
        const NodeSession& session = state.nodes.at(id).session;
        for (const auto& [key, check] : wanted) {
            if (is_due(session, key, now)) return true;
        }
        if (session.files.size() > wanted.size()) return true;
    }
    return false;
}

void ask_questions(Step& step) {
    tend_probes(step);
    if (step.state().declaring.empty()) return;
    const auto wanted = wanted_checks(step.state());
    for (const NodeId& id : std::set<NodeId>(step.state().declaring)) {
        forget_unwanted(step, id, wanted);
        for (const auto& [key, check] : wanted)
            ask_if_due(step, id, check);
    }
}

void ask_about(Step& step, const Job& job) {
    if (step.state().declaring.empty()) return;
    const CheckFiles check = files_needed(step.state(), job).check;
    for (const NodeId& id : std::set<NodeId>(step.state().declaring))
        ask_if_due(step, id, check);
}

void handle(Step& step, const NodeFilesChecked& input) {
    const NodeId& id = input.node;
    const FilesChecked& checked = input.checked;
    const Node* node = find_node(step.state(), id);
    if (node == nullptr || !node->session.up) return;
    const auto known = node->session.files.find(checked.key);
    if (known == node->session.files.end()) return;
    const bool news =
        known->second.answered.micros == 0 || !same_facts(known->second.facts, checked.files);
    step.change_session(id, [&](NodeSession& session) {
        FilesAnswer& answer = session.files.at(checked.key);
        answer.answered = step.steady();
        if (news) answer.facts = checked.files;
    });
    if (news) step.planning_changed();
}

void handle(Step& step, const NodeRoots& input) {
    const NodeId& id = input.node;
    const RootsReport& report = input.report;
    const Node* node = find_node(step.state(), id);
    if (node == nullptr || !node->session.up || node->session.roots == report.roots) return;
    std::vector<std::string> changed;
    step.change_session(id, [&](NodeSession& session) {
        for (const RootInfo& root : report.roots) {
            const auto before =
                std::find_if(session.roots.begin(), session.roots.end(),
                             [&](const RootInfo& old) { return old.name == root.name; });
            const bool same = before != session.roots.end() && before->mount == root.mount &&
                              before->usable() == root.usable();
            if (same) continue;
            session.places.erase(root.name);
            session.files.clear();
            changed.push_back(root.name);
        }
        session.roots = report.roots;
    });
    forget_answers(step, id, changed);
    step.planning_changed();
    ask_questions(step);
}

}  // namespace rm
