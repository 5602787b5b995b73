#include "cli/fleet/startup_script.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "service/security/tokens.h"
#include "spec/machine/roots.h"

namespace rm {
namespace {

constexpr std::string_view kScript = R"(#!/bin/bash
# Makes this machine a worker of a Ringmaster cluster; written by `ringmaster fleet create`.
set -euo pipefail
worker=/opt/ringmaster/bin/ringmaster-worker
if [ ! -x "$worker" ]; then
  echo "ringmaster: $worker is missing; use an image that has it" >&2
  exit 1
fi
install -d -m 0755 /etc/ringmaster
umask 077
cat > /etc/ringmaster/join-token <<'END_OF_TOKEN'
@TOKEN@
END_OF_TOKEN
if id ringmaster-worker >/dev/null 2>&1; then chown ringmaster-worker /etc/ringmaster/join-token; fi
umask 022
cat > /etc/ringmaster/worker.yaml <<'END_OF_CONFIGURATION'
controller: @CONTROLLER@
join-token: /etc/ringmaster/join-token
ca-fingerprint: @FINGERPRINT@
state: /var/lib/ringmaster-worker
@ROOTS@END_OF_CONFIGURATION
systemctl enable ringmaster-worker.service
systemctl restart ringmaster-worker.service
)";

// Words of a YAML file and of a shell script that need no quotes there.
bool is_plain(std::string_view text, std::string_view also = "") {
    constexpr std::string_view kPlain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-[]";
    return !text.empty() && text.find_first_not_of(format("{}{}", kPlain, also)) == text.npos;
}

void fill(std::string& script, std::string_view place, std::string_view value) {
    script.replace(script.find(place), place.size(), value);
}

Status check_root(const std::string& root) {
    const std::size_t equals = std::min(root.find('='), root.size());
    const std::string_view path = std::string_view(root).substr(equals);
    const bool is_path = path.starts_with("=/") && is_plain(path.substr(1), "/");
    if (is_path && check_root_name(root.substr(0, equals)).ok()) return {};
    return invalid_argument("--root '{}' is not NAME=PATH, as share=/srv/share", root);
}

// A member of worker.yaml; nothing where there are none.
std::string roots_text(const std::vector<std::string>& roots) {
    if (roots.empty()) return "";
    return format("root:\n  - {}\n", join(roots, "\n  - "));
}

Status check(const JoinLine& join) {
    for (const std::string& root : join.roots)
        RM_RETURN_IF_ERROR(check_root(root));
    const bool has_port = join.controller.rfind(':') != std::string::npos;
    if (!is_plain(join.controller) || !has_port)
        return invalid_argument("--controller '{}' is not HOST:PORT", join.controller);
    constexpr std::string_view kStart = "sha256:";
    const std::string_view digits =
        std::string_view(join.ca_fingerprint)
            .substr(std::min(kStart.size(), join.ca_fingerprint.size()));
    const bool is_fingerprint = join.ca_fingerprint.starts_with(kStart) && digits.size() == 64 &&
                                digits.find_first_not_of("0123456789abcdef") == digits.npos;
    if (is_fingerprint) return {};
    return invalid_argument(
        "--ca-fingerprint '{}' is not sha256: and 64 hexadecimal digits, as "
        "`ringmaster token create` prints them",
        join.ca_fingerprint);
}

}  // namespace

Result<std::string> startup_script(const JoinLine& join) {
    RM_RETURN_IF_ERROR(check(join));
    RM_TRY(const std::string token, read_token_file(join.token_file));
    if (!is_plain(token)) return invalid_argument("{} holds no token", join.token_file);
    std::string script(kScript);
    fill(script, "@TOKEN@", token);
    fill(script, "@CONTROLLER@", join.controller);
    fill(script, "@FINGERPRINT@", join.ca_fingerprint);
    fill(script, "@ROOTS@", roots_text(join.roots));
    return script;
}

}  // namespace rm
