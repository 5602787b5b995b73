#include "cli/fleet/machine_text.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/show/text.h"

namespace rm {
namespace {

using Json = nlohmann::ordered_json;
constexpr double kDayHours = 24;

Cell address_of(const Machine& machine) {
    return machine.addresses.empty() ? "" : machine.addresses.front();
}

Cell state_cell(const Machine& machine) {
    const bool runs = machine.state == MachineState::running;
    return {std::string(to_string(machine.state)), runs ? Color::green : Color::yellow};
}

Cell number_or_none(int number) {
    return number == 0 ? Cell("") : Cell(number);
}

std::string devices_text(const Shape& shape) {
    if (shape.num_gpus == 0) return counted(shape.num_cores, "core");
    return format("{} x {}, {}, {} GB", shape.num_gpus, shape.gpu.empty() ? "GPU" : shape.gpu,
                  counted(shape.num_cores, "core"), shape.memory_gb);
}

std::string machine_word(const pb::Machine& machine) {
    return lower_without("MACHINE_STATE_", pb::MachineState_Name(machine.state()));
}

Cell standing_cell(const pb::Machine& machine) {
    const bool fine = machine.state() == pb::MACHINE_STATE_MATCHED;
    const bool bad = machine.state() == pb::MACHINE_STATE_GONE;
    return {machine_word(machine), fine ? Color::green : bad ? Color::red : Color::yellow};
}

}  // namespace

Table machines_table(const std::vector<Machine>& machines) {
    TableOf table(machines);
    table.left("NAME", &Machine::name);
    table.left("STATE", state_cell);
    table.left("SHAPE", &Machine::shape);
    table.left("LOCATION", &Machine::location, 1);
    table.left("ADDRESS", address_of);
    table.left("ID", &Machine::id, 2);
    return table.done();
}

std::string machines_json(const std::vector<Machine>& machines) {
    Json list = Json::array();
    for (const Machine& machine : machines)
        list.push_back({{"id", machine.id},
                        {"name", machine.name},
                        {"state", std::string(to_string(machine.state))},
                        {"shape", machine.shape},
                        {"location", machine.location},
                        {"addresses", machine.addresses}});
    return list.dump();
}

Table shapes_table(const std::vector<Shape>& shapes, const PriceList& prices) {
    TableOf table(shapes);
    table.left("SHAPE", &Shape::name);
    table.left("GPU", &Shape::gpu);
    table.right("GPUS", [](const Shape& shape) { return number_or_none(shape.num_gpus); });
    table.right("CORES", &Shape::num_cores);
    table.right("MEMORY", [](const Shape& shape) { return format("{} GB", shape.memory_gb); });
    table.right("PER HOUR", [&prices](const Shape& shape) {
        const MachinePrice price = price_of(shape, prices);
        return money_text(price.per_hour, price.currency);
    });
    return table.done();
}

std::string shapes_json(const std::vector<Shape>& shapes, const PriceList& prices) {
    Json list = Json::array();
    for (const Shape& shape : shapes) {
        const MachinePrice price = price_of(shape, prices);
        Json item = {{"name", shape.name},          {"gpu", shape.gpu},
                     {"gpus", shape.num_gpus},      {"cores", shape.num_cores},
                     {"memoryGb", shape.memory_gb}, {"diskGb", shape.disk_gb}};
        if (price.per_hour > 0) {
            item["pricePerHour"] = price.per_hour;
            item["currency"] = price.currency;
        }
        list.push_back(std::move(item));
    }
    return list.dump();
}

std::vector<std::string> order_lines(const MachineOrder& order, const Shape& shape,
                                     const MachinePrice& price) {
    const std::string last = format("{}-{}", order.prefix, order.count);
    std::vector<std::string> lines = {
        format("{} of {} ({} each){}: {}", counted(order.count, "machine"), shape.name,
               devices_text(shape), order.location.empty() ? "" : " in " + order.location,
               order.count == 1 ? last : format("{}-1 to {}", order.prefix, last))};
    if (price.per_hour <= 0) {
        lines.push_back("cost: not known; --prices FILE or --price AMOUNT says what they cost");
        return lines;
    }
    const double all = price.per_hour * order.count;
    lines.push_back(format("cost: {} per hour, {} per day, until they are deleted ({})",
                           money_text(all, price.currency),
                           money_text(all * kDayHours, price.currency), price.basis));
    return lines;
}

std::vector<pb::Machine> without_worker(const std::vector<pb::Machine>& machines) {
    std::vector<pb::Machine> found;
    for (const pb::Machine& machine : machines)
        if (machine.state() != pb::MACHINE_STATE_MATCHED) found.push_back(machine);
    return found;
}

Table provider_table(const std::vector<pb::Machine>& machines, Detail detail) {
    TableOf table(machines, detail);
    table.left("MACHINE", &pb::Machine::name);
    table.left("STATE", standing_cell);
    table.left("SHAPE", &pb::Machine::shape);
    table.left("ADDRESS", [](const pb::Machine& machine) {
        return machine.addresses().empty() ? "" : machine.addresses(0);
    });
    if (detail == Detail::wide) {
        table.left("LOCATION", &pb::Machine::location);
        table.left("NODES", [](const pb::Machine& machine) { return join(machine.node_ids()); });
        table.left("ID", &pb::Machine::id);
        table.left("PROVISION", &pb::Machine::provision);
    }
    return table.done();
}

}  // namespace rm
