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

#include "base/loop.h"
#include "base/roots.h"
#include "worker/roots/index_hash.h"

namespace rm {

// Who hears what the agent finds, on its thread.
struct RootsListener {
    std::function<void(const std::vector<RootInfo>&)> roots;  // every look, changed or not
    std::function<void(const FilesChecked&)> files;
    std::function<void(const RootProbed&)> probed;
};

// Looks at the declared roots every ten seconds and does what the controller asks about them, on a
// thread of its own: a file system that hangs delays answers about roots and nothing else. Without
// roots it does nothing.
class RootsAgent {
public:
    // `cache_file` keeps measured write speeds.
    RootsAgent(std::vector<DeclaredRoot> roots, std::string cache_file);
    ~RootsAgent();  // removes the nonces it has written
    RootsAgent(const RootsAgent&) = delete;
    RootsAgent& operator=(const RootsAgent&) = delete;

    const std::vector<DeclaredRoot>& declared() const { return roots_; }
    // What is known by now; waits a moment for the first look. A root that has not been looked at
    // says so.
    std::vector<RootInfo> known();

    // From here on the listener hears; until stop(), after which nothing is called.
    void start(RootsListener listener);
    void stop();

    // Any thread; answered later. The same question twice is one.
    void ask(const CheckFiles& check);
    void ask(const ProbeRoot& probe);

private:
    using Question = std::variant<CheckFiles, ProbeRoot>;

    Seconds work();
    void look();
    std::optional<Question> take_question();
    void answer(const CheckFiles& check);
    void answer(const ProbeRoot& probe);
    void push(Question question);
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

    // Of the thread alone.
    std::chrono::steady_clock::time_point next_look_;
    IndexHashes hashes_;
    std::set<std::pair<std::string, std::string>> nonces_;  // directory and nonce

    std::optional<Loop> loop_;
};

}  // namespace rm
