#include "kernels/cuda/matmul/tuning_file.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iomanip>
#include <sstream>

namespace rm {
namespace {

constexpr std::string_view kFirstWords = "# ringmaster matrix products: ";

std::optional<TunedAlgorithm> parse_words(const std::string& text) {
    std::istringstream words(text);
    words >> std::hex;
    TunedAlgorithm algorithm{};
    for (std::uint64_t& word : algorithm) {
        if (!(words >> word)) return std::nullopt;
    }
    return algorithm;
}

}  // namespace

TuningFile::TuningFile(std::string path, std::string machine)
    : path_(std::move(path)), machine_(std::move(machine)) {
    if (!path_.empty()) read();
}

std::optional<TunedAlgorithm> TuningFile::find(const std::string& product) const {
    const std::lock_guard lock(mutex_);
    const auto found = algorithms_.find(product);
    return found == algorithms_.end() ? std::nullopt : std::optional(found->second);
}

void TuningFile::add(const std::string& product, const TunedAlgorithm& algorithm) {
    const std::lock_guard lock(mutex_);
    algorithms_[product] = algorithm;
    if (!path_.empty()) write();
}

void TuningFile::read() {
    std::ifstream file(path_);
    std::string line;
    if (!std::getline(file, line) || line != std::string(kFirstWords) + machine_) return;
    while (std::getline(file, line)) {
        const std::size_t colon = line.find(": ");
        if (colon == std::string::npos) continue;
        if (const auto algorithm = parse_words(line.substr(colon + 2)))
            algorithms_[line.substr(0, colon)] = *algorithm;
    }
}

// Several ranks may write at once: each its own whole file, and the last one stays.
void TuningFile::write() const {
    std::ostringstream name;
    name << path_ << ".tmp-" << ::getpid() << '-' << this;
    {
        std::ofstream file(name.str(), std::ios::trunc);
        file << kFirstWords << machine_ << '\n';
        for (const auto& [product, algorithm] : algorithms_) {
            file << product << ":" << std::hex << std::setfill('0');
            for (const std::uint64_t word : algorithm)
                file << ' ' << std::setw(16) << word;
            file << '\n';
        }
        if (!file.flush()) {
            std::remove(name.str().c_str());
            return;
        }
    }
    std::rename(name.str().c_str(), path_.c_str());
}

}  // namespace rm
