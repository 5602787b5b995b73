#pragma once

#include "tests/controller/world.h"

namespace rm::test {

// Two nodes and a job with one rank on each, launched but not acknowledged.
struct Pair : World {
    JobId id;
    Epoch epoch;
    explicit Pair(const JobSpec& spec = small_spec()) {
        hello("a", 1);
        hello("b", 1);
        id = submit(spec);
        start();
    }
    void start() {
        plan(id, {"a", "b"});
        epoch = epoch_of(id);
    }
    Outcome report(const std::string& node, RankStatus rank, Left left = Left::yes) {
        return status(node, status_of(epoch, id, {std::move(rank)}, left));
    }
    void run() {
        report("a", training(0));
        report("b", training(1));
    }
    // Rank 1 exits with `code`; rank 0 loses its peer.
    void fail(int code, const std::string& words) {
        report("b", ended(1, code, words), Left::no);
        report("a", ended(0, kRankLostPeer, "lost peer rank 1"), Left::no);
    }
    // A hello from a node that still has its rank.
    Outcome hello_with_rank(const std::string& node, int rank, Left left = Left::yes) {
        return hello(node, 1, {status_of(epoch, id, {training(rank)}, left)});
    }
};

}  // namespace rm::test
