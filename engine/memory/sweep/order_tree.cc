#include "engine/memory/sweep/order_tree.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace rm {
namespace {

template <typename T>
void move_to(std::vector<T>& to, std::vector<T>&& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

OrderTree::OrderTree(std::span<const int> items) {
    Nodes leaves;
    for (const int item : items)
        leaves.push_back(leaf(item));
    root_ = group(std::move(leaves), false);
}

// One child stands for itself.
OrderTree::Node OrderTree::group(Nodes children, bool ordered) {
    if (children.size() == 1) return std::move(children[0]);
    Node node{-1, ordered, std::move(children), 0, 0};
    count(node);
    return node;
}

void OrderTree::count(Node& node) {
    node.num_leaves = node.num_marked = 0;
    for (const Node& child : node.children) {
        node.num_leaves += child.num_leaves;
        node.num_marked += child.num_marked;
    }
}

void OrderTree::mark(std::span<const int> items) {
    mark_below(root_, items);
}

void OrderTree::mark_below(Node& node, std::span<const int> items) {
    if (node.children.empty()) {
        node.num_marked = std::find(items.begin(), items.end(), node.item) != items.end() ? 1 : 0;
        return;
    }
    for (Node& child : node.children)
        mark_below(child, items);
    count(node);
}

bool OrderTree::join(std::span<const int> items) {
    if (items.size() < 2) return true;
    mark(items);
    return join_below(root_);
}

bool OrderTree::join_below(Node& node) {
    if (node.is_full()) return true;
    for (Node& child : node.children) {
        if (child.num_marked == node.num_marked) return join_below(child);
    }
    return node.ordered ? join_ordered(node) : join_children(node);
}

// Marked children become one group, with the marked ends of at most two partial ones beside it.
bool OrderTree::join_children(Node& node) {
    Nodes rest, full, partial;
    for (Node& child : node.children) {
        Nodes& list = child.is_full() ? full : child.is_partial() ? partial : rest;
        list.push_back(std::move(child));
    }
    if (partial.size() > 2) return false;
    Nodes line;
    if (!partial.empty() && !line_up(std::move(partial[0]), line)) return false;
    if (!full.empty()) line.push_back(group(std::move(full), false));
    if (partial.size() == 2) {
        Nodes other;
        if (!line_up(std::move(partial[1]), other)) return false;
        std::reverse(other.begin(), other.end());
        move_to(line, std::move(other));
    }
    Node joined = group(std::move(line), true);
    if (rest.empty()) {
        node = std::move(joined);
        return true;
    }
    rest.push_back(std::move(joined));
    node.children = std::move(rest);
    count(node);
    return true;
}

bool OrderTree::join_ordered(Node& node) {
    enum { before, within, after } where = before;
    Nodes line;
    for (Node& child : node.children) {
        if (where == after && child.num_marked > 0) return false;
        if (where == within && !child.is_full()) where = after;
        if (!child.is_partial()) {
            if (child.is_full()) where = within;
            line.push_back(std::move(child));
            continue;
        }
        Nodes parts;
        if (!line_up(std::move(child), parts)) return false;
        if (where == after) std::reverse(parts.begin(), parts.end());
        if (where == before) where = within;
        move_to(line, std::move(parts));
    }
    node.children = std::move(line);
    count(node);
    return true;
}

// Appends the parts of a partial node in a line whose marked ones come last. False: impossible.
bool OrderTree::line_up(Node node, Nodes& line) {
    if (!node.is_partial()) {
        line.push_back(std::move(node));
        return true;
    }
    Nodes rest, full, partial;
    if (node.ordered && (node.children.front().is_full() || node.children.back().num_marked == 0))
        std::reverse(node.children.begin(), node.children.end());
    for (Node& child : node.children) {
        const bool late = !full.empty() || !partial.empty();
        if (node.ordered && late && !child.is_full()) return false;
        Nodes& list = child.is_full() ? full : child.is_partial() ? partial : rest;
        list.push_back(std::move(child));
    }
    if (partial.size() > 1) return false;
    if (node.ordered) {
        move_to(line, std::move(rest));
    } else if (!rest.empty()) {
        line.push_back(group(std::move(rest), false));
    }
    if (!partial.empty() && !line_up(std::move(partial[0]), line)) return false;
    if (node.ordered) {
        move_to(line, std::move(full));
    } else if (!full.empty()) {
        line.push_back(group(std::move(full), false));
    }
    return true;
}

void OrderTree::replace(std::span<const int> items, std::span<const int> others) {
    mark(items);
    Nodes leaves;
    for (const int item : others)
        leaves.push_back(leaf(item));
    replace_below(root_, group(std::move(leaves), false));
}

void OrderTree::replace_below(Node& node, const Node& other) {
    if (node.is_full()) {
        node = other;
        return;
    }
    const auto is_full = [](const Node& child) { return child.is_full(); };
    const auto first = std::find_if(node.children.begin(), node.children.end(), is_full);
    if (first == node.children.end()) {
        for (Node& child : node.children) {
            if (child.num_marked > 0) replace_below(child, other);
        }
    } else {
        *first = other;
        node.children.erase(std::remove_if(first + 1, node.children.end(), is_full),
                            node.children.end());
    }
    count(node);
}

double OrderTree::log_orders(const Node& node) {
    if (node.children.empty()) return 0;
    const auto num_children = static_cast<double>(node.children.size());
    double sum = node.ordered ? std::log(2.0) : std::lgamma(num_children + 1);
    for (const Node& child : node.children)
        sum += log_orders(child);
    return sum;
}

OrderTree::Near OrderTree::near(std::span<const int> items) {
    mark(items);
    Near near;
    if (items.empty()) append_unmarked(root_, near.items);
    if (!items.empty()) append_near(root_, near);
    return near;
}

void OrderTree::append_near(const Node& node, Near& near) {
    const auto inner =
        std::find_if(node.children.begin(), node.children.end(),
                     [&](const Node& child) { return child.num_marked == node.num_marked; });
    const bool is_smallest = inner == node.children.end();
    if (!is_smallest) append_near(*inner, near);
    for (const Node& child : node.children) {
        if (is_smallest || &child != &*inner) append_unmarked(child, near.items);
    }
    if (is_smallest) near.num_within = near.items.size();
}

std::vector<std::vector<int>> OrderTree::families(std::span<const int> items) {
    mark(items);
    std::vector<std::vector<int>> families;
    append_families(root_, families);
    return families;
}

std::vector<int> OrderTree::append_families(const Node& node,
                                            std::vector<std::vector<int>>& families) {
    std::vector<int> marked;
    if (node.children.empty() && node.num_marked > 0) marked.push_back(node.item);
    std::size_t largest = 0;
    for (const Node& child : node.children) {
        if (child.num_marked == 0) continue;
        std::vector<int> below = append_families(child, families);
        largest = std::max(largest, below.size());
        move_to(marked, std::move(below));
    }
    if (marked.size() > std::max<std::size_t>(largest, 1)) families.push_back(marked);
    return marked;
}

void OrderTree::append_unmarked(const Node& node, std::vector<int>& items) {
    if (node.children.empty() && node.num_marked == 0) items.push_back(node.item);
    for (const Node& child : node.children)
        append_unmarked(child, items);
}

std::vector<int> OrderTree::order(std::span<const std::int64_t> keys) const {
    std::vector<int> items;
    append(root_, keys, items);
    return items;
}

std::vector<int> OrderTree::any_order() const {
    std::vector<int> items;
    append(root_, {}, items);
    return items;
}

// Returns the least key below the node.
std::int64_t OrderTree::append(const Node& node, std::span<const std::int64_t> keys,
                               std::vector<int>& items) {
    if (node.children.empty()) {
        items.push_back(node.item);
        return keys.empty() ? 0 : keys[static_cast<std::size_t>(node.item)];
    }
    struct Part {
        std::int64_t key;
        std::vector<int> items;
    };
    std::vector<Part> parts;
    for (const Node& child : node.children) {
        Part part{0, {}};
        part.key = append(child, keys, part.items);
        parts.push_back(std::move(part));
    }
    if (!node.ordered) {
        std::stable_sort(parts.begin(), parts.end(),
                         [](const Part& a, const Part& b) { return a.key < b.key; });
    } else if (parts.back().key < parts.front().key) {
        std::reverse(parts.begin(), parts.end());
    }
    std::int64_t least = parts.front().key;
    for (Part& part : parts) {
        least = std::min(least, part.key);
        move_to(items, std::move(part.items));
    }
    return least;
}

}  // namespace rm
