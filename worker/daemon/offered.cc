#include "worker/daemon/offered.h"

#include <algorithm>

#include "engine/train/cpu_peak.h"
#include "worker/daemon/data_address.h"
#include "worker/daemon/data_candidates.h"
#include "worker/inventory/gpu_devices.h"

namespace rm {
namespace {

bool may_be_gpus(const WorkerOptions& options) {
    return !options.devices || options.devices->library == DeviceLibrary::cuda;
}

Bytes memory_of_rank(const WorkerOptions& options, int own_slots, int slots_on_machine) {
    if (options.memory.value > 0) return {options.memory.value / own_slots};
    Bytes machine = machine_memory();
    const Bytes group = control_group_memory();
    if (group.value > 0) machine = std::min(machine, group);
    return {memory_for_ranks(machine).value / slots_on_machine};
}

Result<MachineShare> share_of(const WorkerOptions& options, const DeviceOffer& offer, int slots) {
    const Bytes of_rank = memory_of_rank(options, offer.count, slots);
    MachineShare share{
        .num_slots = slots, .num_cores = machine_cores(), .memory = {of_rank.value * slots}};
    if (offer.library) return share;
    RM_TRY(share.fp32, cached_cpu_peak(options.peak_cache, DType::f32));
    RM_TRY(share.bf16, cached_cpu_peak(options.peak_cache, DType::bf16));
    return share;
}

Status add_addresses(const WorkerOptions& options, Offered& offered) {
    std::string& address = offered.inventory.data_address;
    const std::vector<InterfaceAddress> all = interface_addresses();
    if (options.data_address == kAutoAddress) {
        RM_TRY(address, data_address_towards(options.controller));
        offered.data_addresses = data_candidates(address, all);
    } else {
        address = options.data_address;
        offered.data_addresses = {pinned_candidate(address, all)};
    }
    return {};
}

void add_gpus(const DeviceOffer& offer, std::unique_ptr<Gpus> gpus, Offered& offered) {
    Inventory& inventory = offered.inventory;
    inventory.devices = gpu_devices(gpus->list(), offer.gpus);
    inventory.software = gpu_software(gpus.get());
    offered.gpus = std::make_unique<GpuWatch>(std::move(gpus), offer.gpus);
    set_fitness(inventory.devices, fitness_of(offered.gpus->readings()));
    for (DeviceInfo& device : inventory.devices)
        device.num_threads = std::max(1, inventory.num_cores / offer.count);
}

}  // namespace

Result<Offered> find_offered(const WorkerOptions& options) {
    Result<std::unique_ptr<Gpus>> gpus = make_error(ErrorCode::unavailable, "not asked for");
    if (may_be_gpus(options)) gpus = open_gpus();
    RM_TRY(const SettledOffer settled, settle_offer(options.devices, gpus));
    const DeviceOffer& offer = settled.offer;
    const int slots = options.slots_on_machine > 0 ? options.slots_on_machine : offer.count;
    if (slots < offer.count) {
        return invalid_argument("--slots-on-machine {} is less than this worker's own {} slots",
                                slots, offer.count);
    }
    RM_TRY(const MachineShare share, share_of(options, offer, slots));
    Offered offered{.inventory = take_inventory(offer, share),
                    .data_addresses = {},
                    .memory_of_rank = {share.memory.value / slots},
                    .gpus = nullptr,
                    .unused = settled.why_not};
    offered.inventory.memory = machine_memory();
    if (!options.name.empty()) offered.inventory.hostname = options.name;
    RM_RETURN_IF_ERROR(add_addresses(options, offered));
    if (offer.library == DeviceLibrary::emu) offered.inventory.software = gpu_software(nullptr);
    if (offer.library == DeviceLibrary::cuda) add_gpus(offer, std::move(*gpus), offered);
    for (DeviceInfo& device : offered.inventory.devices) {
        if (device.kind != "cpu") device.host_memory = offered.memory_of_rank;
    }
    return offered;
}

}  // namespace rm
