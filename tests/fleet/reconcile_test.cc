#include "controller/discovery/reconcile.h"

#include <gtest/gtest.h>

#include "controller/discovery/static_inventory.h"

namespace rm {
namespace {

Machine machine(const std::string& name, MachineState state = MachineState::running) {
    return {.id = "id-" + name,
            .name = name,
            .shape = "l40s-48gb.10x",
            .state = state,
            .addresses = {"10.0.0." + name.substr(1), "198.51.100.7"},
            .location = "lab"};
}

std::string told(const std::vector<MachineRow>& rows) {
    std::string text;
    for (const MachineRow& row : rows) {
        text += format("{}:{}", row.machine.name, to_string(row.standing));
        for (const NodeId& node : row.nodes)
            text += "=" + node.value;
        text += ' ';
    }
    return text;
}

TEST(Reconcile, AMachineWithoutANodeIsUnprovisioned) {
    EXPECT_EQ(told(reconcile({machine("m1"), machine("m2", MachineState::starting),
                              machine("m3", MachineState::stopped)},
                             {}, {})),
              "m1:unprovisioned m2:starting m3:stopped ");
}

TEST(Reconcile, ANodeIsFoundByAddressOrByHostName) {
    const std::vector<Machine> machines = {machine("m1"), machine("m2"), machine("m3")};
    EXPECT_EQ(told(reconcile(machines,
                             {{{"a"}, "other", "10.0.0.2"}, {{"b"}, "m1.lab.internal", ""}}, {})),
              "m1:matched=b m2:matched=a m3:unprovisioned ");
}

TEST(Reconcile, LoopbackAddressesAndDomainsOfTwoPlacesProveNothing) {
    Machine here = machine("m1");
    here.addresses = {"127.0.0.1"};
    here.name = "m1.paris";
    EXPECT_EQ(told(reconcile({here}, {{{"a"}, "m1.rome", "127.0.0.1"}}, {})),
              "m1.paris:unprovisioned ");
    EXPECT_EQ(told(reconcile({here}, {{{"a"}, "m1", "127.0.0.1"}}, {})), "m1.paris:matched=a ");
}

TEST(Reconcile, ANodeWhoseMachineIsListedNoMoreIsGone) {
    const std::vector<NodeFacts> nodes = {{{"a"}, "m1", ""}, {{"x"}, "elsewhere", "10.9.9.9"}};
    const auto first = reconcile({machine("m1"), machine("m2")}, nodes, {});
    const auto then = reconcile({machine("m2")}, nodes, matches_of(first));
    EXPECT_EQ(told(then), "m2:unprovisioned m1:gone=a ") << "x never had a machine there";
    EXPECT_EQ(told(reconcile({machine("m2")}, nodes, matches_of(then))),
              "m2:unprovisioned m1:gone=a ")
        << "and stays so";
    EXPECT_EQ(told(reconcile({machine("m2")}, {nodes[1]}, matches_of(then))), "m2:unprovisioned ")
        << "until the node is";
}

TEST(Reconcile, AStoppedMachineOfANodeIsGoneAndComesBack) {
    const std::vector<NodeFacts> nodes = {{{"a"}, "m1", ""}};
    const auto stopped = reconcile({machine("m1", MachineState::stopped)}, nodes, {});
    EXPECT_EQ(told(stopped), "m1:gone=a ");
    EXPECT_EQ(told(reconcile({machine("m1")}, nodes, matches_of(stopped))), "m1:matched=a ");
}

TEST(Reconcile, ANewMachineOfAnOldNameTakesTheNode) {
    const std::vector<NodeFacts> nodes = {{{"a"}, "m1", ""}};
    Machine next = machine("m1");
    next.id = "another";
    EXPECT_EQ(told(reconcile({next}, nodes, {{{"a"}, machine("m1")}})), "m1:matched=a ");
}

TEST(Reconcile, FillsInTheCommand) {
    EXPECT_EQ(provision_command("ssh {address} join {name} {name}", machine("m4")),
              "ssh 10.0.0.4 join m4 m4");
}

TEST(StaticInventory, ReadsAListOfMachines) {
    const auto machines = parse_static_inventory(
        "- {name: a, address: 10.0.0.1, shape: l40s-48gb.8x}\n- {name: b, address: 10.0.0.2, "
        "state: stopped}\n",
        "f");
    ASSERT_TRUE(machines.ok()) << machines.error().message;
    ASSERT_EQ(machines->size(), 2u);
    EXPECT_EQ(machines->at(0).shape, "l40s-48gb.8x");
    EXPECT_EQ(machines->at(1).state, MachineState::stopped);
    EXPECT_EQ(parse_static_inventory("", "f").value().size(), 0u);
}

TEST(StaticInventory, NamesThePlaceOfAFault) {
    const auto fault = [](const char* text) {
        return parse_static_inventory(text, "inventory.yaml").error().message;
    };
    EXPECT_NE(fault("- {name: a}\n").find("inventory.yaml:1:"), std::string::npos);
    EXPECT_NE(fault("- {name: a}\n").find("address"), std::string::npos);
    EXPECT_NE(fault("- {name: a, address: x, shapes: y}\n").find("shape"), std::string::npos);
    EXPECT_NE(fault("- {name: a, address: x, state: on}\n").find("running"), std::string::npos);
    EXPECT_NE(fault("- {name: a, address: x}\n- {name: a, address: y}\n").find("twice"),
              std::string::npos);
}

}  // namespace
}  // namespace rm
