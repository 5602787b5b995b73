#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace rm::e2e {

// A real program under test, stdout and stderr in files. The destructor kills it if it still runs.
class Process {
public:
    // Adds `environment` ("NAME=value") to that of the test.
    Process(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
            const std::string& output_prefix);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    pid_t pid() const { return pid_; }
    void signal(int number) const;
    // The exit code, 128 + n after signal n; nothing when it still runs after `limit`.
    std::optional<int> wait(Seconds limit);
    std::string out() const;
    std::string err() const;

private:
    std::string output_prefix_;
    pid_t pid_ = 0;
    std::optional<int> code_;
};

// Polls every 50 ms.
template <typename Condition>
bool wait_until(Seconds limit, const Condition& condition);

void sleep(Seconds time);
// RM_KILL_DELAY, seconds: tests/cluster/kill_soak moves the moment of a kill.
Seconds chosen_delay();
std::string read_file(const std::string& path);  // empty when it is not there
void write_file(const std::string& path, const std::string& text);

// Pids of processes with this text in their environment.
std::vector<pid_t> processes_marked(const std::string& marker);

template <typename Condition>
bool wait_until(Seconds limit, const Condition& condition) {
    constexpr Seconds kPoll{0.05};
    for (Seconds waited; waited < limit; waited += kPoll) {
        if (condition()) return true;
        sleep(kPoll);
    }
    return condition();
}

}  // namespace rm::e2e
