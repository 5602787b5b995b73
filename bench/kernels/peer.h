#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace rm::bench {

// The most memory that a process ("self" or its id) has had resident, from /proc.
Bytes peak_memory(const std::string& process);

// libtorch doing the same work, in a process of Debian's /usr/bin/python3 with python3-torch (or of
// the interpreter that RM_PYTHON names) that stays for the whole run and takes turns with us.
// bench/kernels/peer_torch.py says which works it knows; a work is a JSON object such as {"work":
// "linear_fwd", "T": 512, "N": 512, "K": 512, "dtype": "bf16"}.
class TorchPeer {
public:
    // An error says what is missing: Python, its torch module or the script.
    static Result<std::unique_ptr<TorchPeer>> start(int num_threads,
                                                    const std::string& device = "cpu");
    ~TorchPeer();
    TorchPeer(const TorchPeer&) = delete;
    TorchPeer& operator=(const TorchPeer&) = delete;

    // Makes the tensors of `work`, which replaces the one before.
    Status prepare(const std::string& work);
    // Runs the prepared work once; seconds by the peer's own clock. "run cpu": CPU seconds divided
    // by its threads. "run 20": twenty times in a row, seconds of one.
    Result<double> run(const std::string& how = "run");
    Bytes peak_memory() const;

private:
    TorchPeer() = default;
    Result<std::string> ask(const std::string& line);

    pid_t pid_ = -1;
    int to_ = -1, from_ = -1;
    std::string received_;
};

}  // namespace rm::bench
