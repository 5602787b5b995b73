#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/units.h"

namespace rm::load {

struct ProcessUse {
    Seconds cpu;  // since its start, all threads
    Bytes resident;
    int num_threads = 0;
};

struct ControllerOptions {
    std::string state_dir;
    Seconds fsync_delay;  // added to every fsync and fdatasync
    std::vector<std::string> flags;
    std::string http = "none";  // where it serves pages
};

// A real controller process on loopback and a state directory of the caller's.
class ControllerProcess {
public:
    // Returns once it listens.
    explicit ControllerProcess(const ControllerOptions& options);
    ~ControllerProcess();  // sends SIGTERM and waits
    ControllerProcess(const ControllerProcess&) = delete;
    ControllerProcess& operator=(const ControllerProcess&) = delete;

    const std::string& address() const { return address_; }
    const std::string& http() const { return http_; }  // host:port
    ProcessUse use() const;
    // Ends it with this signal; how it ended, as waitpid says.
    int stop(int signal);

private:
    void wait_until_it_listens();

    const std::string info_file_;
    pid_t pid_ = 0;
    std::string address_;
    std::string http_;
};

}  // namespace rm::load
