#include "bench/kernels/peer.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace rm::bench {
namespace {

constexpr const char* kPython = "/usr/bin/python3";

// Beside an installed program, or in the source tree it was built from.
std::string script_path() {
    std::error_code ignored;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
    const auto installed = program.parent_path().parent_path() / "share/ringmaster/peer_torch.py";
    if (std::filesystem::exists(installed, ignored)) return installed;
    return std::string(RM_BENCH_SOURCE_DIR) + "/peer_torch.py";
}

struct Pipe {
    Pipe() {
        RM_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0, "no pipe for the peer: errno {}", errno);
    }
    std::array<int, 2> ends{};  // read, write
};

Result<pid_t> spawn(const std::string& script, int num_threads, const std::string& device,
                    const Pipe& in, const Pipe& out) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
    const char* named = std::getenv("RM_PYTHON");
    std::string python = named != nullptr ? named : kPython;
    std::string path = script, threads = std::to_string(num_threads), where = device;
    std::array<char*, 5> argv = {python.data(), path.data(), threads.data(), where.data(), nullptr};
    pid_t pid = -1;
    const int error = posix_spawn(&pid, python.c_str(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        return make_error(ErrorCode::unavailable, "{} does not start (error {}): install python3",
                          python, error);
    }
    return pid;
}

}  // namespace

Result<std::unique_ptr<TorchPeer>> TorchPeer::start(int num_threads, const std::string& device) {
    const std::string script = script_path();
    if (!std::filesystem::exists(script)) {
        return make_error(ErrorCode::not_found, "the peer's script is not at {}", script);
    }
    std::signal(SIGPIPE, SIG_IGN);  // a peer that ended is an error, not our end
    const Pipe in, out;
    const auto pid = spawn(script, num_threads, device, in, out);
    ::close(in.ends[0]);
    ::close(out.ends[1]);
    std::unique_ptr<TorchPeer> peer(new TorchPeer);
    peer->to_ = in.ends[1];
    peer->from_ = out.ends[0];
    if (!pid) return pid.error();
    peer->pid_ = *pid;
    const auto ready = peer->ask("");
    if (!ready) return ready.error();
    return peer;
}

TorchPeer::~TorchPeer() {
    ::close(to_);  // it ends when its input does
    ::close(from_);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

// Sends a line, unless it is empty, and returns the next one received.
Result<std::string> TorchPeer::ask(const std::string& line) {
    const std::string sent = line.empty() ? line : line + "\n";
    if (::write(to_, sent.data(), sent.size()) != static_cast<ssize_t>(sent.size())) {
        return make_error(ErrorCode::unavailable, "the torch peer ended before its work");
    }
    std::size_t end = 0;
    while ((end = received_.find('\n')) == std::string::npos) {
        std::array<char, 4096> buffer{};
        const ssize_t size = ::read(from_, buffer.data(), buffer.size());
        if (size <= 0) return make_error(ErrorCode::unavailable, "the torch peer ended");
        received_.append(buffer.data(), usize(size));
    }
    const std::string answer = received_.substr(0, end);
    received_.erase(0, end + 1);
    const auto json = nlohmann::json::parse(answer, nullptr, false);
    if (!json.is_object()) {
        return make_error(ErrorCode::internal, "the torch peer said: {}", answer);
    }
    if (json.contains("error")) {
        return make_error(ErrorCode::unavailable, "torch peer: {}",
                          json["error"].get<std::string>());
    }
    return answer;
}

Status TorchPeer::prepare(const std::string& work) {
    const auto answer = ask(work);
    if (!answer) return answer.error();
    return {};
}

Bytes peak_memory(const std::string& process) {
    std::ifstream status("/proc/" + process + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) return {std::atoll(line.c_str() + 6) * 1024};
    }
    return {};
}

Bytes TorchPeer::peak_memory() const {
    return bench::peak_memory(std::to_string(pid_));
}

Result<double> TorchPeer::run(const std::string& how) {
    RM_TRY(const std::string answer, ask(how));
    return nlohmann::json::parse(answer).at("seconds").get<double>();
}

}  // namespace rm::bench
