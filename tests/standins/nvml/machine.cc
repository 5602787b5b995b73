#include "tests/standins/nvml/machine.h"

#include <cstdlib>
#include <fstream>

namespace standin {

Machine& Machine::instance() {
    static Machine machine;
    return machine;
}

nlohmann::json Machine::file() {
    const std::lock_guard lock(mutex_);
    const char* path = std::getenv("RM_STANDIN_NVML");
    if (path == nullptr) return last_;
    std::ifstream stream(path);
    auto read = nlohmann::json::parse(stream, nullptr, false);
    if (read.is_object()) last_ = std::move(read);
    return last_;
}

nlohmann::json Machine::gpu(std::size_t index) {
    const nlohmann::json all = file().value("gpus", nlohmann::json::array());
    return index < all.size() ? all[index] : nlohmann::json();
}

}  // namespace standin
