#pragma once

#include <functional>
#include <string>

namespace rm::lab {

// Why this process cannot make network namespaces; empty: it can. Where that takes a user
// namespace, the process enters a new one: call this before starting threads.
std::string why_no_namespaces();

// A network namespace that exists as long as this object or a process in it.
class Namespace {
public:
    Namespace();
    ~Namespace();
    Namespace(Namespace&& other) noexcept;
    Namespace(const Namespace&) = delete;
    Namespace& operator=(const Namespace&) = delete;

    // A file that names it to other programs while this process lives.
    std::string path() const;
    // Runs a script of sh in it. RM_CHECK: it succeeds.
    void shell(const std::string& script) const;
    // Runs `work` on a thread in it and waits.
    void run(const std::function<void()>& work) const;
    // From now on the calling thread, and what it starts, are in it.
    void enter() const;

private:
    int fd_;
};

}  // namespace rm::lab
