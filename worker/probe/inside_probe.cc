#include "worker/probe/inside_probe.h"

#include <cstring>

#include "base/clock.h"

namespace rm {
namespace {

constexpr std::size_t kLargeCopy = 8u << 20;
constexpr std::size_t kSmallCopy = 64;
constexpr Seconds kEach{0.004};

struct Copies {
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    Seconds seconds;
};

// Hides from the compiler that no code reads the bytes.
void keep(const void* bytes) {
    asm volatile("" : : "r"(bytes) : "memory");
}

Copies copy_for(Seconds span, std::vector<char>& to, const std::vector<char>& from,
                std::size_t size) {
    const SystemClock clock;
    const MonoTime start = clock.mono();
    Copies done;
    do {
        std::memcpy(to.data(), from.data(), size);
        keep(to.data());
        done.bytes += static_cast<std::int64_t>(size);
        ++done.count;
        done.seconds = clock.mono() - start;
    } while (done.seconds < span);
    return done;
}

class CpuInsideProbe final : public InsideProbe {
public:
    explicit CpuInsideProbe(int num_devices) : num_devices_(num_devices) {}

    Result<InsideFindings> measure() override {
        const std::vector<char> from(kLargeCopy, 1);
        std::vector<char> to(kLargeCopy, 2);
        InsideFindings found;
        for (int a = kHostEnd; a < num_devices_; ++a) {
            for (int b = kHostEnd; b < num_devices_; ++b) {
                if (a != b) found.samples.push_back(sample(a, b, to, from));
            }
        }
        return found;
    }

private:
    static InsideSample sample(int a, int b, std::vector<char>& to, const std::vector<char>& from) {
        const Copies large = copy_for(kEach, to, from, kLargeCopy);
        const Copies small = copy_for({kEach.value / 10}, to, from, kSmallCopy);
        return {.from = a,
                .to = b,
                .rate = {static_cast<double>(large.bytes) * 8e-9 / large.seconds.value},
                .latency = {small.seconds.value / static_cast<double>(small.count)},
                .bytes = {large.bytes},
                .seconds = large.seconds};
    }

    const int num_devices_;
};

}  // namespace

std::unique_ptr<InsideProbe> make_cpu_inside_probe(int num_devices) {
    return std::make_unique<CpuInsideProbe>(num_devices);
}

}  // namespace rm
