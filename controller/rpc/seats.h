#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

namespace rm {

// Limits the calls that hold a thread for as long as their caller wants: without it, one viewer's
// streams could take all threads that the system allows the process. Thread safe.
class Seats {
public:
    struct Limits {
        int all = 512;
        int of_one = 256;  // of one caller
    };
    explicit Seats(Limits limits) : limits_(limits) {}

    struct GiveBack {
        std::string who;
        void operator()(Seats* seats) const { seats->give_back(who); }
    };
    using Seat = std::unique_ptr<Seats, GiveBack>;  // must end before the Seats

    // RESOURCE_EXHAUSTED: all seats are taken, or all that one caller may have.
    Result<Seat> take(const std::string& who) {
        const std::lock_guard lock(mutex_);
        int& taken = taken_[who];
        if (taken >= limits_.of_one || all_ >= limits_.all) return refused(taken);
        ++taken;
        ++all_;
        return Seat(this, {who});
    }

private:
    Error refused(int taken) const {
        return make_error(ErrorCode::resource_exhausted,
                          "{} streams are open, {} of them yours; the controller serves {}, and {} "
                          "to one caller: end some (`logs -f`, `submit --follow`, `top`)",
                          all_, taken, limits_.all, limits_.of_one);
    }
    void give_back(const std::string& who) {
        const std::lock_guard lock(mutex_);
        --all_;
        const auto found = taken_.find(who);
        if (--found->second == 0) taken_.erase(found);
    }

    const Limits limits_;
    std::mutex mutex_;
    std::map<std::string, int> taken_;
    int all_ = 0;
};

}  // namespace rm
