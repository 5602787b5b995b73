#include "engine/train/cpu_peak.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "kernels/cpu/cpu_kernels.h"

namespace rm {
namespace {

using nlohmann::json;

std::string cpu_model() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
    }
    return "unknown";
}

int num_cores() {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// A file held open and locked until it goes out of scope.
class LockedFile {
public:
    explicit LockedFile(const std::string& path)
        : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
        if (fd_ >= 0) ::flock(fd_, LOCK_EX);
    }
    LockedFile(const LockedFile&) = delete;
    LockedFile& operator=(const LockedFile&) = delete;
    ~LockedFile() {
        if (fd_ >= 0) ::close(fd_);
    }
    bool ok() const { return fd_ >= 0; }
    std::string read_all() const {
        std::string text(4096, '\0');
        const ssize_t length = ::pread(fd_, text.data(), text.size(), 0);
        text.resize(length > 0 ? usize(length) : 0);
        return text;
    }
    bool replace(const std::string& text) const {
        return ::ftruncate(fd_, 0) == 0 &&
               ::pwrite(fd_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    }

private:
    int fd_;
};

std::string_view precision_of(DType compute) {
    return compute == DType::bf16 ? "bf16" : "fp32";
}

// The cache; one without peaks if the file is invalid or from another machine.
json read_cache(const LockedFile& file) {
    json value = json::parse(file.read_all(), nullptr, false);
    const bool ours = value.is_object() && value.value("cpu", "") == cpu_model() &&
                      value.value("cores", 0) == num_cores() && value.contains("peaks") &&
                      value["peaks"].is_object();
    if (ours) return value;
    return {{"cpu", cpu_model()}, {"cores", num_cores()}, {"peaks", json::object()}};
}

std::optional<Peak> find_peak(const json& cache, std::string_view precision) {
    const auto found = cache["peaks"].find(precision);
    if (found == cache["peaks"].end() || !found->is_object()) return std::nullopt;
    const Peak peak{found->value("flops", 0.0), found->value("name", "")};
    return peak.flops > 0 && !peak.name.empty() ? std::optional(peak) : std::nullopt;
}

Peak measure(DType compute) {
    const double flops = measure_cpu_peak_flops({.num_threads = num_cores(), .compute = compute});
    const std::string date = to_iso8601(SystemClock().wall()).substr(0, 10);
    return {flops,
            format("{} {:.0} GFLOP/s measured {}", precision_of(compute), flops * 1e-9, date)};
}

}  // namespace

Result<Peak> cached_cpu_peak(const std::string& cache_file, DType compute) {
    std::error_code ignored;  // the open below reports the error
    std::filesystem::create_directories(std::filesystem::path(cache_file).parent_path(), ignored);
    const LockedFile file(cache_file);
    if (!file.ok()) {
        return make_error(ErrorCode::failed_precondition, "cannot open the peak cache {}: {}",
                          cache_file, std::strerror(errno));
    }
    json cache = read_cache(file);
    const std::string precision(precision_of(compute));
    if (const auto cached = find_peak(cache, precision)) return *cached;
    const Peak peak = measure(compute);
    cache["peaks"][precision] = {{"flops", peak.flops}, {"name", peak.name}};
    if (!file.replace(cache.dump(2) + "\n")) {
        return make_error(ErrorCode::resource_exhausted, "cannot write the peak cache {}: {}",
                          cache_file, std::strerror(errno));
    }
    return peak;
}

std::string default_peak_cache() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache != '\0') return std::string(cache) + "/ringmaster/cpu_peak.json";
    const char* home = std::getenv("HOME");
    return std::string(home != nullptr ? home : "/tmp") + "/.cache/ringmaster/cpu_peak.json";
}

}  // namespace rm
