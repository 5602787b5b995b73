#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "base/clock.h"
#include "service/http/http_server.h"

namespace rm {

// The answers to costly questions that many pages ask, each made once for all of them. An answer
// stays for kTimes as long as it took to make, though not longer than its asker accepts: one
// question that accepts it costs 1 / kTimes of a core, however many ask it. Browsers learn how long
// it stays (Cache-Control: max-age) and do not ask again before. Thread safe.
class KeptAnswers {
public:
    static constexpr double kTimes = 200;
    static constexpr Bytes kMost{64LL << 20};  // of all together
    static constexpr std::size_t kMostAnswers = 256;

    using Make = std::function<HttpResponse()>;
    explicit KeptAnswers(const Clock& clock) : clock_(clock) {}

    // The kept answer, or that of `make`; waits while another thread makes it. Only an answer with
    // status 200 stays. An exception of `make` passes through.
    HttpResponse get(const std::string& question, Seconds longest, const Make& make);

private:
    struct Kept {
        HttpResponse response;
        MonoTime until;
    };

    // Those of `mutex_`'s holder:
    const Kept* find(const std::string& question);
    void keep(const std::string& question, Kept kept);
    void drop_first_to_end();

    const Clock& clock_;
    std::mutex mutex_;
    std::condition_variable made_;
    std::set<std::string> in_work_;
    std::map<std::string, Kept> kept_;
    Bytes bytes_;  // of the kept answers
};

}  // namespace rm
