#pragma once

#include <optional>
#include <string>

#include "base/units.h"

namespace rm {

// Tells systemd how a unit of Type=notify is (sd_notify(3)). Without such a supervisor, and where
// it cannot be reached, it does nothing. Thread safe.
class Supervisor {
public:
    // Also takes the supervisor's words out of the environment, so that no child process speaks for
    // this one. Call it before any other thread exists.
    static Supervisor from_environment();

    void ready() const;
    void stopping() const;
    // Neither waits for a supervisor that does not listen.
    bool status(const std::string& text) const;  // for `systemctl status`; false: say it again
    void alive() const;

    // How often the supervisor must be told that this process is alive: twice as often as it looks.
    // Nothing: it does not ask.
    std::optional<Seconds> alive_every() const { return alive_every_; }

private:
    bool send(const std::string& message, int flags) const;  // false: it is not there

    std::string socket_;  // empty: there is none
    std::optional<Seconds> alive_every_;
};

}  // namespace rm
