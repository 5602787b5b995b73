#include "base/check.h"

namespace rm {

void throw_check_error(const char* file, int line, const char* condition,
                       const std::string& message) {
    const std::string_view path(file);
    const std::size_t slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    throw CheckError(format("{} ({}:{}: {})", message, name, line, condition));
}

}  // namespace rm
