#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "spec/job_spec.h"

namespace rm {

// The names of devices that are no product.
constexpr std::string_view kCpuKind = "cpu";
constexpr std::string_view kEmulatedKind = "emu";
constexpr bool is_gpu_product(std::string_view kind) {
    return kind != kCpuKind && kind != kEmulatedKind;
}

// Whether devices of this kind compute what the job asks for, as far as the job alone tells; the
// error names the key. CPU slots compute everything. GPUs, emulated ones too, compute in bf16, with
// the heads of check_heads().
Status check_computes(const JobSpec& spec, std::string_view kind);

// Heads on GPUs have a multiple of 8 dims, up to 128. `model`: its name or directory.
Status check_heads(std::int64_t head_dim, std::string_view model, std::string_view kind);

}  // namespace rm
