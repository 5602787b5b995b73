#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/os/loop.h"
#include "spec/machine/roots.h"
#include "worker/roots/index_hash.h"

namespace rm {

// Receives the agent's results, on its thread.
struct RootsListener {
    std::function<void(const std::vector<RootInfo>&)> roots;  // every look, changed or not
    std::function<void(const FilesChecked&)> files;
    std::function<void(const RootProbed&)> probed;
};

// Looks at the declared roots every ten seconds and answers the controller's questions about them,
// on a thread of its own: a file system that hangs only delays answers about roots. Without roots
// it does nothing.
class RootsAgent {
public:
    // `cache_file` keeps measured write speeds.
    RootsAgent(std::vector<DeclaredRoot> roots, std::string cache_file);
    ~RootsAgent();  // removes the nonces it has written
    RootsAgent(const RootsAgent&) = delete;
    RootsAgent& operator=(const RootsAgent&) = delete;

    const std::vector<DeclaredRoot>& declared() const { return roots_; }
    // The present facts; waits a moment for the first look. Before it, every `problem` says so.
    std::vector<RootInfo> known();

    // Calls the listener from here on, until stop(); makes no calls afterwards.
    void start(RootsListener listener);
    void stop();

    using Question = std::variant<CheckFiles, ProbeRoot>;
    // From any thread; answers later. Asking the same question twice counts once.
    void ask(Question question);

private:
    Seconds work();
    void look();
    std::optional<Question> take_question();
    void answer(const CheckFiles& check);
    void answer(const ProbeRoot& probe);
    void measure(RootInfo& root);
    void remove_nonces();
    void remove_nonces_in(const std::string& directory);
    const DeclaredRoot* find(const std::string& name) const;
    RootsListener listener();

    const std::vector<DeclaredRoot> roots_;
    const std::string cache_file_;

    std::mutex mutex_;
    std::condition_variable looked_at_;
    std::vector<RootInfo> known_;
    bool looked_ = false;
    RootsListener listener_;
    std::deque<Question> questions_;

    // Used by the agent's thread only.
    std::chrono::steady_clock::time_point next_look_;
    IndexHashes hashes_;
    std::set<std::pair<std::string, std::string>> nonces_;  // directory and nonce

    std::optional<Loop> loop_;
};

}  // namespace rm
