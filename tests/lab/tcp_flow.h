#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "base/units.h"
#include "tests/lab/lab.h"

namespace rm::lab {

// One TCP connection over which a host sends to another as fast as it can, until the end.
class TcpFlow {
public:
    TcpFlow(const Lab& lab, const std::string& from, const std::string& to);
    ~TcpFlow();
    TcpFlow(const TcpFlow&) = delete;
    TcpFlow& operator=(const TcpFlow&) = delete;

    std::int64_t received() const { return received_; }  // bytes
    // The rate at which payload arrives during `time` from now on.
    MbitPerSec measure(Seconds time) const;

private:
    void send_all();
    void receive_all();

    int sending_ = -1;
    int receiving_ = -1;
    std::atomic<std::int64_t> received_ = 0;
    std::thread sender_;
    std::thread receiver_;
};

// Whether a new connection to a listener on `to` opens within the limit.
bool connects(const Lab& lab, const std::string& from, const std::string& to, Seconds limit);

}  // namespace rm::lab
