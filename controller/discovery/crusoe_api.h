#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "controller/discovery/crusoe_config.h"
#include "controller/discovery/crusoe_signature.h"
#include "controller/discovery/provider.h"

namespace rm {

struct Shape {
    std::string name;  // "l40s-48gb.10x"
    std::string gpu;   // empty: none
    int num_gpus = 0;
    int num_cores = 0;
    double memory_gb = 0;
    double disk_gb = 0;  // local; 0: none
};

// Machines of one shape that one request creates: "ring-1" to "ring-4" for a prefix of "ring".
struct MachineOrder {
    std::string prefix;
    int count = 0;
    std::string shape;
    std::string location;  // empty: Crusoe chooses
    std::string image;     // likewise
    std::string ssh_public_key;
    std::string startup_script;  // empty: none
};

enum class OperationState { in_progress, succeeded, failed };

// A change that Crusoe carries out after it has answered.
struct CloudOperation {
    std::string id;
    OperationState state = OperationState::in_progress;
    std::string code;     // of a failure: "out_of_stock"
    std::string message;  // likewise
};

// How long to wait, and for how often.
struct CrusoePatience {
    Seconds request{20};
    Seconds first_pause{0.5};  // before a GET is tried again; doubles
    int tries = 4;             // of a GET
};

// Crusoe Cloud's API, v1. A GET that fails by 429, 5xx or the connection is tried again; a POST and
// a DELETE never are, and UNKNOWN says that Crusoe may have carried them out: only a list tells.
// Other errors have the code of their HTTP status and Crusoe's own code and message; none has a key
// or a signature in it.
class CrusoeApi {
public:
    CrusoeApi(CrusoeConfig config, const Clock& clock, CrusoePatience patience = {},
              std::stop_token stop = {});

    Result<std::string> project();  // its UUID
    Result<std::vector<Machine>> machines();
    Result<std::vector<Shape>> shapes();
    Result<CloudOperation> create(const MachineOrder& order);
    Result<CloudOperation> remove(const std::string& machine_id);
    Result<CloudOperation> operation(const std::string& id);

private:
    Result<std::string> vms_path(std::string_view below);
    Result<OutgoingRequest> signed_request(std::string_view verb, std::string_view path,
                                           const Query& query, std::string body) const;
    Result<std::string> get(std::string_view path, const Query& query);
    Result<std::string> change(std::string_view verb, std::string_view path, std::string body);
    Error refusal(const HttpAnswer& answer) const;
    std::string without_secrets(std::string text) const;

    const CrusoeConfig config_;
    const Clock& clock_;
    const CrusoePatience patience_;
    const std::stop_token stop_;
    std::string project_;
};

// The machines of one project as a Provider.
class CrusoeProvider final : public Provider {
public:
    CrusoeProvider(CrusoeConfig config, const Clock& clock)
        : config_(std::move(config)), clock_(clock) {}
    std::string name() const override { return "crusoe"; }
    Result<std::vector<Machine>> list(const std::stop_token& stop) override;

private:
    CrusoeConfig config_;
    const Clock& clock_;
};

}  // namespace rm
