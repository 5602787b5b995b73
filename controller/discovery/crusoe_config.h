#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/http/http_client.h"

// The account and its key, as Crusoe's own programs find them.
namespace rm {

// A text that no message and no log line shows.
class Secret {
public:
    Secret() = default;
    explicit Secret(std::string text) : text_(std::move(text)) {}
    const std::string& reveal() const { return text_; }
    bool empty() const { return text_.empty(); }

private:
    std::string text_;
};

struct CrusoeConfig {
    std::string profile;
    std::string access_key_id;
    Secret secret_key;
    std::string project;  // a UUID or a name; empty: the only one there is
    BaseUrl endpoint;
};

// Values of a command line; empty: not given.
struct CrusoeFlags {
    std::string file;  // instead of ~/.crusoe/config
    std::string profile;
    std::string project;
    std::string endpoint;
};

using Environment = std::function<std::optional<std::string>(const std::string&)>;

// Each value: the flag, CRUSOE_PROFILE, CRUSOE_ACCESS_KEY_ID, CRUSOE_SECRET_KEY,
// CRUSOE_DEFAULT_PROJECT and CRUSOE_API_ENDPOINT, the profile in the file (TOML, may be missing
// where no flag names it). The profile: the flag, CRUSOE_PROFILE, `profile` of the file, "default".
// Keys have no flag: the whole machine sees a command line. PERMISSION_DENIED: others may read the
// file. UNAUTHENTICATED: no key; the message says where one is looked for.
Result<CrusoeConfig> find_crusoe_config(const CrusoeFlags& flags, const Environment& environment);

}  // namespace rm
