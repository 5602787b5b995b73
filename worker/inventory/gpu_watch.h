#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/os/loop.h"
#include "service/gpu/gpus.h"

namespace rm {

// One GPU at a look.
struct GpuReading {
    int index = 0;
    GpuFacts facts;
    Bytes memory;
    GpuState state;
    std::vector<int> new_xids;  // since the look before
    Seconds since;              // the look before; 0: this is the first
    std::string unfit;          // why no job may use it
    bool lost = false;          // it answers no more
    bool operator==(const GpuReading&) const = default;
};

DevicesReport fitness_of(const std::vector<GpuReading>& readings);

// Looks at the offered GPUs every few seconds. The driver may take seconds to answer about a GPU
// that fails, so looks have their own thread.
class GpuWatch {
public:
    using Listener = std::function<void(const std::vector<GpuReading>& readings)>;
    static constexpr Seconds kLook{5};

    // Looks once before it returns. Its owner leaves `gpus` to it from now on.
    GpuWatch(std::unique_ptr<Gpus> gpus, const std::vector<int>& offered);
    GpuWatch(const GpuWatch&) = delete;
    GpuWatch& operator=(const GpuWatch&) = delete;
    ~GpuWatch() = default;

    // Tells the listener of the last look and of every later one, on the watch's thread.
    void start(Listener listener, Seconds interval = kLook);
    void stop();
    // The GPUs on which ranks of this worker run: processes there are theirs. Any thread.
    void set_held(std::set<int> held);
    // Those of the last look. Any thread.
    std::vector<GpuReading> readings() const;

private:
    struct Watched {
        GpuFacts facts;
        Bytes memory;
        std::set<int> hardware_xids;  // since the start
        // At the look before, with processes of others. A process that is there at the first look
        // is none of this worker's.
        bool was_busy = true;
    };
    void look(Seconds since);
    GpuReading look_at(int index, Watched& watched, const std::vector<int>& new_xids, bool held);

    const std::unique_ptr<Gpus> gpus_;
    std::map<int, Watched> watched_;  // by index
    mutable std::mutex mutex_;
    std::set<int> held_;
    std::vector<GpuReading> readings_;
    Listener listener_;
    std::unique_ptr<Loop> loop_;  // last
};

}  // namespace rm
