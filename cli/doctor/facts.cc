#include "cli/doctor/facts.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "cli/client/calls.h"
#include "cli/up/daemon.h"
#include "service/gpu/fitness.h"

namespace rm {
namespace {

namespace fs = std::filesystem;

// A third-party library and the entries of its C interface that are called here; 0 is success.
class Library {
public:
    explicit Library(const std::string& name)
        : library_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
    ~Library() {
        if (library_ != nullptr) ::dlclose(library_);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    bool open() const { return library_ != nullptr; }
    // -1: there is no such entry.
    template <typename... Args>
    int call(const char* name, Args... args) const {
        auto* entry = reinterpret_cast<int (*)(Args...)>(::dlsym(library_, name));
        return entry == nullptr ? -1 : entry(args...);
    }

private:
    void* library_;
};

std::string driver_error(const Library& driver, int code) {
    const char* text = nullptr;
    driver.call("cuGetErrorString", code, &text);
    return text == nullptr ? format("error {}", code) : format("error {}, {}", code, text);
}

// The version that `entry` of the first of `names` that opens returns.
VersionFacts version_facts(const std::vector<std::string>& names, const char* entry) {
    for (const std::string& name : names) {
        const Library library(name);
        if (!library.open()) continue;
        VersionFacts facts{.library = name};
        if (library.call(entry, &facts.version) != 0) facts.version = 0;
        return facts;
    }
    return {};
}

class LoopbackSocket {
public:
    explicit LoopbackSocket(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        address_.sin_family = AF_INET;
        address_.sin_port = htons(static_cast<std::uint16_t>(port));
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    ~LoopbackSocket() {
        if (fd_ >= 0) ::close(fd_);
    }
    LoopbackSocket(const LoopbackSocket&) = delete;
    LoopbackSocket& operator=(const LoopbackSocket&) = delete;

    bool connects() { return ::connect(fd_, address(), sizeof address_) == 0; }
    bool binds() {
        const int on = 1;  // as servers do: a connection that is closing does not hold it
        ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        return ::bind(fd_, address(), sizeof address_) == 0;
    }

private:
    const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }

    int fd_;
    sockaddr_in address_{};
};

LimitFacts limit_of(int resource) {
    rlimit limit{};
    ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    const auto value = [](rlim_t set) { return set == RLIM_INFINITY ? kUnlimited : set; };
    return {value(limit.rlim_cur), value(limit.rlim_max)};
}

// Ranks are processes of the worker's program, whose name the kernel cuts to 15 letters.
bool are_ranks(const std::vector<GpuProcess>& processes) {
    return std::all_of(processes.begin(), processes.end(), [](const GpuProcess& process) {
        return process.name.starts_with("ringmaster-work");
    });
}

bool is_named(const TargetFlags& flags, const std::string& address) {
    return !flags.address.empty() || !flags.state_dir.empty() || address != kDefaultAddress;
}

void count_nodes(const std::vector<pb::Node>& nodes, WallTime middle, ControllerFacts& facts) {
    std::set<std::string> builds;
    for (const pb::Node& node : nodes) {
        if (node.state() == pb::NODE_STATE_GONE) continue;
        ++facts.nodes;
        if (!node.drained().empty()) ++facts.drained;
        builds.insert(node.build());
        for (const pb::Device& device : node.inventory().devices())
            facts.unfit += device.unfit().empty() ? 0 : 1;
        if (node.session_up()) {
            facts.skew = from_proto(node.last_seen()) - middle;
        } else {
            ++facts.without_session;
        }
    }
    facts.builds = static_cast<int>(builds.size());
}

}  // namespace

std::vector<std::string> missing_programs() {
    std::vector<std::string> missing;
    for (const char* name : {"ringmaster-controller", "ringmaster-worker", "ring-train"}) {
        if (!program_beside_this(name)) missing.emplace_back(name);
    }
    return missing;
}

DriverFacts driver_facts(const GpuLibraries& names) {
    const Library driver(names.driver);
    DriverFacts facts{.present = driver.open()};
    if (!facts.present) return facts;
    if (const auto gpus = open_gpus()) facts.version = (*gpus)->software().driver;
    driver.call("cuDriverGetVersion", &facts.cuda);
    int count = 0;
    int code = driver.call("cuInit", 0U);
    if (code == 0) code = driver.call("cuDeviceGetCount", &count);
    constexpr int kNoDevice = 100;
    if (code != 0 && code != kNoDevice) facts.error = driver_error(driver, code);
    for (int i = 0; i < count; ++i) {
        int device = 0;
        char name[256] = "";
        driver.call("cuDeviceGet", &device, i);
        driver.call("cuDeviceGetName", static_cast<char*>(name), static_cast<int>(sizeof name),
                    device);
        facts.devices.emplace_back(name);
    }
    return facts;
}

std::vector<GpuCondition> gpu_conditions() {
    auto gpus = open_gpus();
    if (!gpus) return {};
    std::set<std::pair<int, int>> xids;
    for (const GpuXid& reported : (*gpus)->take_xids())
        xids.insert({reported.index, reported.xid});
    std::vector<GpuCondition> conditions;
    for (const Gpu& gpu : (*gpus)->list()) {
        std::set<int> own;
        for (const auto& [index, xid] : xids) {
            if (index == gpu.index && is_hardware_xid(xid)) own.insert(xid);
        }
        const GpuState state = (*gpus)->state(gpu.index);
        conditions.push_back(
            {gpu.index, gpu.facts.product, unfit_reason(state, own, are_ranks(state.processes))});
    }
    return conditions;
}

VersionFacts nccl_facts(const GpuLibraries& names) {
    return version_facts({names.nccl}, "ncclGetVersion");
}
VersionFacts cuda_runtime_facts(const GpuLibraries& names) {
    return version_facts(names.runtimes, "cudaRuntimeGetVersion");
}

CudaLibraryFacts cuda_library_facts() {
    std::error_code ignored;
    const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const fs::path& place : {here, here.parent_path() / "lib"}) {
        const fs::path path = place / "librm_cuda.so";
        if (!fs::exists(path, ignored)) continue;
        void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
        if (library == nullptr) return {path.string(), ::dlerror()};
        ::dlclose(library);
        return {path.string(), ""};
    }
    return {};
}

PortFacts port_facts(int port, std::string purpose) {
    PortFacts facts{.port = port, .purpose = std::move(purpose)};
    if (LoopbackSocket(port).connects()) {
        facts.use = PortUse::served;
    } else {
        facts.use = LoopbackSocket(port).binds() ? PortUse::free : PortUse::blocked;
    }
    return facts;
}

int num_free_ports(int first, int last) {
    int num_free = 0;
    for (int port = first; port <= last; ++port)
        num_free += LoopbackSocket(port).binds() ? 1 : 0;
    return num_free;
}

ControllerFacts controller_facts(const VerbContext& context) {
    ControllerFacts facts;
    const auto target = find_controller(context.target, environment_lookup);
    facts.named = !target || is_named(context.target, target->address);
    if (target) facts.address = target->address;
    std::ostringstream unread;  // retries are not reported, only the outcome
    Console quiet{{unread}, {unread}};
    auto client = VerbContext{quiet, context.clock, context.target}.connect();
    if (!client) {
        facts.error = client.error();
        return facts;
    }
    // The first call opens the connection, so that the second one's time is its own.
    auto fleet = read_fleet(*client);
    const WallTime before = context.clock.wall();
    if (fleet) fleet = read_fleet(*client);
    facts.round_trip = context.clock.wall() - before;
    if (!fleet) {
        facts.error = fleet.error();
        return facts;
    }
    facts.telemetry_dropped = fleet->telemetry_dropped;
    count_nodes(fleet->nodes, before + Seconds{facts.round_trip.value / 2}, facts);
    return facts;
}

DiskFacts disk_facts(const std::string& directory) {
    std::error_code failure;
    fs::path place = fs::absolute(directory, failure);
    while (!fs::exists(place, failure) && place.has_parent_path() && place != place.parent_path())
        place = place.parent_path();
    DiskFacts facts{.path = directory, .measured = place.string()};
    struct statvfs disk {};
    if (::statvfs(place.c_str(), &disk) == 0) {
        const auto block = static_cast<std::int64_t>(disk.f_frsize);
        facts.free = Bytes{block * static_cast<std::int64_t>(disk.f_bavail)};
        facts.total = Bytes{block * static_cast<std::int64_t>(disk.f_blocks)};
    }
    facts.writable = ::access(place.c_str(), W_OK | X_OK) == 0;
    return facts;
}

LimitFacts memory_lock_limit() {
    return limit_of(RLIMIT_MEMLOCK);
}
LimitFacts open_files_limit() {
    return limit_of(RLIMIT_NOFILE);
}

}  // namespace rm
