#include "engine/train/rank_device.h"

#include "base/text.h"
#include "engine/train/rank_config.h"
#include "kernels/cpu/cpu_kernels.h"
#include "spec/machine/device_kind.h"

namespace rm {

std::string to_string(const RankDevice& device) {
    return device.library ? format("{}:{}", to_string(*device.library), device.index) : "cpu";
}

Result<RankDevice> parse_rank_device(std::string_view text) {
    if (text == "cpu") return RankDevice{};
    const std::string_view name = text.substr(0, text.find(':'));
    const auto library = parse_word<DeviceLibrary>(name);
    if (library && name == text) return RankDevice{*library, 0};
    if (library) {
        const auto index = parse_number<int>(text.substr(name.size() + 1));
        if (index && *index >= 0) return RankDevice{*library, *index};
    }
    return invalid_argument("device '{}' is not known; cpu, cuda, cuda:N or emu:N", text);
}

Status check_rank_device(const RankDevice& device, const JobSpec& spec) {
    if (device.is_cpu()) return {};
    if (compute_type(spec) == DType::bf16) return check_device(*device.library, device.index);
    return invalid_argument(
        "precision {}: the {} device computes in bf16; use that, or --device cpu", spec.precision,
        to_string(*device.library));
}

Result<std::unique_ptr<Kernels>> make_rank_kernels(const RankConfig& config,
                                                   const std::string& tuning_file) {
    const RankDevice& device = config.device;
    RM_RETURN_IF_ERROR(check_rank_device(device, config.spec));
    if (device.is_cpu()) {
        return make_cpu_kernels(
            {.num_threads = config.num_threads, .compute = compute_type(config.spec)});
    }
    RM_TRY(const ModelConfig model, architecture_of(config.spec, config.model));
    RM_RETURN_IF_ERROR(
        check_heads(model.head_dim, config.spec.model.name(), to_string(*device.library)));
    DeviceOptions options{.device = device.index, .tuning_file = tuning_file};
    if (config.device_memory.value > 0) options.memory = config.device_memory;
    RM_TRY(std::unique_ptr<Kernels> kernels, load_device_kernels(*device.library, options));
    if (computes_in_fp8(config.spec) && !kernels->computes_fp8()) {
        return invalid_argument("precision: fp8: {} has no products in FP8; use bf16",
                                kernels->device().facts().product);
    }
    const bool in_8_bits = config.spec.attention == AttentionNumbers::eight_bit;
    if (in_8_bits && !kernels->computes_fp8()) {
        return invalid_argument("attention: 8bit: {} has no such products; leave attention out",
                                kernels->device().facts().product);
    }
    return kernels;
}

}  // namespace rm
