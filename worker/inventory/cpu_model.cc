#include "worker/dir/files.h"
#include "worker/inventory/inventory.h"
#include "worker/inventory/key_value.h"

namespace rm {

std::string machine_cpu_model() {
    const Result<std::string> text = read_text_file("/proc/cpuinfo");
    return text ? parse_cpu_model(*text) : std::string();
}

std::string parse_cpu_model(std::string_view cpuinfo) {
    return std::string(value_of(cpuinfo, "model name", ':'));
}

}  // namespace rm
