// The processes of the worker's tests:
//   shim DIR
//   rank BEHAVIOUR DIR RANK
//   true-rank DIR RANK         the worker's own
//   daemon STATE BEHAVIOUR     starts one attempt of two ranks and tends it until it is killed
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/worker/no_rendezvous.h"
#include "tests/worker/support.h"
#include "worker/agent/attempts.h"
#include "worker/dir/attempt_dir.h"
#include "worker/dir/files.h"
#include "worker/rank/rank_process.h"
#include "worker/shim/shim.h"

extern char** environ;

namespace rm {
namespace {

volatile sig_atomic_t asked_to_stop = 0;

void listen_for_stop() {
    ::signal(SIGTERM, [](int) { asked_to_stop = 1; });
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

// Bounded, so that a broken test leaves nothing behind for long.
void sleep_until_stopped() {
    for (int i = 0; i < 6000 && asked_to_stop == 0; ++i)
        ::usleep(10'000);
}

void start_sleeping_child() {
    const char* argv[] = {"/bin/sleep", "60", nullptr};
    pid_t child = 0;
    posix_spawn(&child, argv[0], nullptr, nullptr, const_cast<char**>(argv), environ);
}

int run_fake_rank(const std::string& behaviour, const AttemptDir& dir, int rank) {
    if (!tie_to_shim(dir)) return 8;
    std::printf("rank %d: %s\n", rank, behaviour.c_str());
    std::fflush(stdout);
    if (behaviour.rfind("exit-", 0) == 0) return std::atoi(behaviour.c_str() + 5) + rank;
    if (behaviour == "abort") std::abort();
    if (behaviour == "words") {
        return replace_text_file(dir.last_words(rank), "no data in /nowhere\n") ? 1 : 2;
    }
    if (behaviour == "child") {
        start_sleeping_child();
        return 0;
    }
    if (behaviour == "late") ::usleep(300'000);
    if (behaviour == "stubborn") {
        ::signal(SIGTERM, SIG_IGN);
        sleep_until_stopped();
    }
    listen_for_stop();
    sleep_until_stopped();
    return asked_to_stop != 0 ? kRankStopped : kRankFailed;
}

int run_fake_daemon(const std::string& state, const std::string& behaviour) {
    NoRendezvous rendezvous;
    AttemptsOptions options{.state_dir = state,
                            .shim_command = helper_shim(),
                            .terms = {.command = helper_rank(behaviour)},
                            .inventory = {.devices = {{.index = 0}, {.index = 1}}}};
    auto attempts = Attempts::open(std::move(options), rendezvous);
    if (!attempts) return 1;
    const Status started =
        (*attempts)->start({.epoch = {7},
                            .job = {"job1"},
                            .ranks = {{.rank = 0, .device = 0}, {.rank = 1, .device = 1}}});
    if (!started) return 2;
    for (int i = 0; i < 600; ++i) {
        (*attempts)->look({});
        (*attempts)->wait(Seconds{0.1});
    }
    return 3;
}

int helper_main(const std::vector<std::string>& words) {
    if (words.size() == 2 && words[0] == "shim") {
        const Status ended = run_shim(words[1]);
        if (!ended) std::fprintf(stderr, "%s\n", ended.error().message.c_str());
        return ended ? 0 : 1;
    }
    if (words.size() == 4 && words[0] == "rank") {
        return run_fake_rank(words[1], AttemptDir(words[2]), std::atoi(words[3].c_str()));
    }
    if (words.size() == 3 && words[0] == "true-rank") {
        return run_rank_process(words[1], std::atoi(words[2].c_str()));
    }
    if (words.size() == 3 && words[0] == "daemon") return run_fake_daemon(words[1], words[2]);
    return 64;
}

}  // namespace
}  // namespace rm

int main(int argc, char** argv) {
    return rm::helper_main({argv + 1, argv + argc});
}
