#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace rm {

// A library's algorithm for one product, opaque: cublasLtMatmulAlgo_t.
using TunedAlgorithm = std::array<std::uint64_t, 8>;

// Algorithms of matrix products, kept so that later runs multiply in the same way. Text: a first
// line that names library version and device, then a product and 8 hexadecimal words per line. A
// file of another library or device is of no use: it is read as empty and replaced by the first
// add().
class TuningFile {
public:
    // `path` empty: remembers nothing beyond this object.
    TuningFile(std::string path, std::string machine);

    std::optional<TunedAlgorithm> find(const std::string& product) const;
    // Also writes the file anew, beside it and renamed; one that cannot be written is left alone.
    void add(const std::string& product, const TunedAlgorithm& algorithm);

private:
    void read();
    void write() const;

    const std::string path_;
    const std::string machine_;
    mutable std::mutex mutex_;
    std::map<std::string, TunedAlgorithm> algorithms_;
};

}  // namespace rm
