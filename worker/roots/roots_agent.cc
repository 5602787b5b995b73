#include "worker/roots/roots_agent.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "worker/dir/files.h"
#include "worker/roots/file_checks.h"
#include "worker/roots/root_directory.h"

namespace rm {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kLookInterval{10};
constexpr std::chrono::seconds kFirstLook{3};

// A speed belongs to the file system mounted there.
std::string cache_key(const RootInfo& root) {
    return root.path + " " + root.mount;
}

json read_cache(const std::string& file) {
    const Result<std::string> text = read_text_file(file);
    json cache = text ? json::parse(*text, nullptr, false) : json();
    return cache.is_object() ? cache : json::object();
}

}  // namespace

RootsAgent::RootsAgent(std::vector<DeclaredRoot> roots, std::string cache_file)
    : roots_(std::move(roots)), cache_file_(std::move(cache_file)) {
    for (const DeclaredRoot& root : roots_) {
        known_.push_back({.name = root.name,
                          .path = root.path,
                          .problem = "its file system has not answered yet"});
    }
    if (roots_.empty()) return;
    loop_.emplace([this](auto&) { return work(); }, Seconds{}, [this] { remove_nonces(); });
}

RootsAgent::~RootsAgent() {
    stop();
}

void RootsAgent::stop() {
    if (loop_) loop_->stop();
}

std::vector<RootInfo> RootsAgent::known() {
    std::unique_lock lock(mutex_);
    if (!roots_.empty()) looked_at_.wait_for(lock, kFirstLook, [this] { return looked_; });
    return known_;
}

void RootsAgent::start(RootsListener listener) {
    const std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
}

RootsListener RootsAgent::listener() {
    const std::lock_guard lock(mutex_);
    return listener_;
}

void RootsAgent::ask(Question question) {
    const std::lock_guard lock(mutex_);
    if (std::find(questions_.begin(), questions_.end(), question) != questions_.end()) return;
    questions_.push_back(std::move(question));
    if (loop_) loop_->wake();
}

Seconds RootsAgent::work() {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_look_) {
        look();
        next_look_ = std::chrono::steady_clock::now() + kLookInterval;
    } else if (const auto question = take_question()) {
        std::visit([this](const auto& asked) { answer(asked); }, *question);
    } else {
        return Seconds{std::chrono::duration<double>(next_look_ - now).count()};
    }
    return Seconds{};
}

std::optional<RootsAgent::Question> RootsAgent::take_question() {
    const std::lock_guard lock(mutex_);
    if (questions_.empty()) return std::nullopt;
    std::optional<Question> question = std::move(questions_.front());
    questions_.pop_front();
    return question;
}

void RootsAgent::remove_nonces() {
    for (const auto& [directory, nonce] : nonces_)
        remove_nonce(directory, nonce);
}

// A root has one probe at a time: files that are left belong to a probe whose end did not arrive.
void RootsAgent::remove_nonces_in(const std::string& directory) {
    std::erase_if(nonces_, [&](const auto& written) {
        if (written.first != directory) return false;
        remove_nonce(directory, written.second);
        return true;
    });
    remove_old_nonces(directory);
}

void RootsAgent::look() {
    std::vector<RootInfo> found;
    for (const DeclaredRoot& root : roots_) {
        found.push_back(look_at_root(root));
        if (found.back().usable()) measure(found.back());
    }
    {
        const std::lock_guard lock(mutex_);
        known_ = found;
        looked_ = true;
        looked_at_.notify_all();
    }
    if (const auto hears = listener().roots) hears(found);
}

void RootsAgent::measure(RootInfo& root) {
    json cache = read_cache(cache_file_);
    const std::string key = cache_key(root);
    if (!cache.contains(key)) {
        cache[key] = measure_write_speed(root).value;
        // Without the cache the worker measures again after a restart.
        (void)replace_text_file(cache_file_, cache.dump());
    }
    root.write_per_second = {cache[key].is_number_integer() ? cache[key].get<std::int64_t>() : 0};
}

const DeclaredRoot* RootsAgent::find(const std::string& name) const {
    const auto root = std::find_if(roots_.begin(), roots_.end(), [&](const DeclaredRoot& declared) {
        return declared.name == name;
    });
    return root == roots_.end() ? nullptr : &*root;
}

void RootsAgent::answer(const CheckFiles& check) {
    const FilesChecked checked = check_files(roots_, check, hashes_);
    if (const auto hears = listener().files) hears(checked);
}

void RootsAgent::answer(const ProbeRoot& probe) {
    RootProbed probed{.root = probe.root, .nonce = probe.nonce, .step = probe.step};
    const DeclaredRoot* root = find(probe.root);
    if (root == nullptr) {
        probed.problem = "it is not declared here";
    } else if (probe.step == ProbeStep::write) {
        remove_nonces_in(root->path);
        const Status written = write_nonce(root->path, probe.nonce);
        if (written) nonces_.insert({root->path, probe.nonce});
        if (!written) probed.problem = written.error().message;
    } else if (probe.step == ProbeStep::look) {
        const Result<bool> found = has_nonce(root->path, probe.nonce);
        probed.found = found && *found;
        if (!found) probed.problem = found.error().message;
    } else if (nonces_.erase({root->path, probe.nonce}) > 0) {
        remove_nonce(root->path, probe.nonce);
    }
    if (const auto hears = listener().probed) hears(probed);
}

}  // namespace rm
