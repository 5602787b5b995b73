#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Every order of some items in which given sets of them lie side by side.
namespace rm {

// A PQ-tree: K. S. Booth, G. S. Lueker, "Testing for the Consecutive Ones Property, Interval
// Graphs, and Graph Planarity Using PQ-Tree Algorithms", 1976. Children of a node come in any
// order, those of an `ordered` one as they stand or reversed. One pass over the tree per set: the
// trees of an arena have few leaves.
class OrderTree {
public:
    // In any order.
    explicit OrderTree(std::span<const int> items);

    // Keeps the orders in which `items` lie side by side. False: there are none, and the tree is of
    // no more use.
    bool join(std::span<const int> items);

    // Puts `others`, in any order, in the place of items that lie side by side since join().
    void replace(std::span<const int> items, std::span<const int> others);

    // The natural logarithm of the number of orders.
    int num_items() const { return root_.num_leaves; }
    double log_orders() const { return log_orders(root_); }

    // All other items; first those of the smallest subtree that contains these items, `num_within`
    // of them, then those of its parent, and so on.
    struct Near {
        std::vector<int> items;
        std::size_t num_within = 0;
    };
    Near near(std::span<const int> items);

    // For each subtree that contains at least two of the items: those.
    std::vector<std::vector<int>> families(std::span<const int> items);

    // An order of this tree that agrees with `keys` (of each item): some order of the tree must be
    // ascending in them.
    std::vector<int> order(std::span<const std::int64_t> keys) const;
    std::vector<int> any_order() const;

private:
    struct Node {
        int item = -1;  // of a leaf
        bool ordered = false;
        std::vector<Node> children;
        int num_leaves = 1;
        int num_marked = 0;
        bool is_full() const { return num_marked == num_leaves; }
        bool is_partial() const { return num_marked > 0 && !is_full(); }
    };
    using Nodes = std::vector<Node>;

    static Node leaf(int item) { return {item, false, {}, 1, 0}; }
    static Node group(Nodes children, bool ordered);
    static void count(Node& node);
    static bool join_below(Node& node);
    static bool join_children(Node& node);
    static bool join_ordered(Node& node);
    static bool line_up(Node node, Nodes& line);
    static void replace_below(Node& node, const Node& other);
    static double log_orders(const Node& node);
    static void append_near(const Node& node, Near& near);
    static std::vector<int> append_families(const Node& node,
                                            std::vector<std::vector<int>>& families);
    static void append_unmarked(const Node& node, std::vector<int>& items);
    static std::int64_t append(const Node& node, std::span<const std::int64_t> keys,
                               std::vector<int>& items);
    void mark(std::span<const int> items);
    static void mark_below(Node& node, std::span<const int> items);

    Node root_;
};

}  // namespace rm
