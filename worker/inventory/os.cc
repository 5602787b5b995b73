#include "worker/dir/files.h"
#include "worker/inventory/inventory.h"
#include "worker/inventory/key_value.h"

namespace rm {

std::string machine_os() {
    const Result<std::string> text = read_text_file("/etc/os-release");
    return text ? parse_os_release(*text) : std::string();
}

std::string parse_os_release(std::string_view text) {
    std::string_view name = value_of(text, "PRETTY_NAME", '=');
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"') {
        name = name.substr(1, name.size() - 2);
    }
    return std::string(name);
}

}  // namespace rm
