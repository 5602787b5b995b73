#include "engine/dry_run/layer_repetition.h"

#include <gtest/gtest.h>

namespace rm {
namespace {

// Builds a trace of requests and releases in order.
class Requests {
public:
    std::size_t request(std::int64_t size) {
        trace_.blocks.push_back({time_++, -1, {size}});
        return trace_.blocks.size() - 1;
    }
    void release(std::size_t block) { trace_.blocks[block].upper = time_++; }
    const ArenaTrace& trace() const { return trace_; }

private:
    ArenaTrace trace_;
    std::int64_t time_ = 0;
};

// Returns a pass over layers that keep `kept` each and work on `working`, with a head of `head`.
ArenaTrace pass_of(int layers, std::int64_t kept, std::int64_t working, std::int64_t head) {
    Requests requests;
    std::vector<std::size_t> all;
    for (int layer = 0; layer < layers; ++layer) {
        all.push_back(requests.request(kept + layer % 2));
        requests.release(requests.request(working));
    }
    requests.release(requests.request(head));
    for (; !all.empty(); all.pop_back()) {
        requests.release(requests.request(2 * working));
        requests.release(all.back());
    }
    return requests.trace();
}

Bytes repeated_peak(std::int64_t kept, std::int64_t working, std::int64_t head, int periods) {
    const auto found =
        LayerRepetition::find(pass_of(4, kept, working, head), pass_of(6, kept, working, head));
    return found ? found->peak(periods) : Bytes{-1};
}

TEST(LayerRepetition, HasThePeakOfTheLongPassWhereverItIs) {
    for (const std::int64_t kept : {0, 3, 100}) {
        for (const std::int64_t working : {10, 200}) {
            for (const std::int64_t head : {5, 450, 9000}) {
                const ArenaTrace whole = pass_of(4 + 2 * 14, kept, working, head);
                EXPECT_EQ(repeated_peak(kept, working, head, 14), peak_live(whole.blocks))
                    << kept << " " << working << " " << head;
            }
        }
    }
}

TEST(LayerRepetition, OfNoPeriodIsTheShorterPass) {
    EXPECT_EQ(repeated_peak(7, 10, 450, 0), peak_live(pass_of(4, 7, 10, 450).blocks));
    EXPECT_EQ(repeated_peak(7, 10, 450, 1), peak_live(pass_of(6, 7, 10, 450).blocks));
}

TEST(LayerRepetition, IsNotFoundWhereLayersDiffer) {
    EXPECT_FALSE(LayerRepetition::find(pass_of(4, 7, 10, 450), pass_of(6, 7, 11, 450)));
    EXPECT_FALSE(LayerRepetition::find(pass_of(6, 7, 10, 450), pass_of(4, 7, 10, 450)));
}

}  // namespace
}  // namespace rm
