// Memory policies change no bit of a step's results: compares each with the policy that keeps
// everything on the device, at one tile size.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/rank_rig.h"
#include "tests/support/some_cases.h"

namespace rm::test {
namespace {

constexpr std::int64_t kTile = 64;
constexpr std::int64_t kContext = 1024;

struct PolicyCase {
    std::string name;
    MemoryPolicy policy;
    std::int64_t chunk = 2 * kTile;
};

void PrintTo(const PolicyCase& c, std::ostream* out) {
    *out << c.name;
}

RigConfig job(const Mesh& mesh) {
    RigConfig config;
    config.backend = cpu_backend(1);
    config.mesh = mesh;
    config.model = small_model();
    config.context = kContext;
    config.sequences = 2;
    config.steps = 2;
    config.tile = kTile;
    config.chunk = 2 * kTile;
    return config;
}

// Combines offload, keep and alpha with each other; varies the rest one at a time.
std::vector<PolicyCase> policies(WorkingSet working) {
    std::vector<PolicyCase> cases;
    const bool windows = working == WorkingSet::windows;
    for (const KeptPlace kept : {KeptPlace::device, KeptPlace::host}) {
        if (windows && kept == KeptPlace::device) continue;
        for (const Keep keep : {Keep::input, Keep::input_and_attention}) {
            for (const double alpha : {0.0, 0.3, 1.0}) {
                PolicyCase c;
                c.policy.working = working;
                c.policy.kept = kept;
                c.policy.keep = keep;
                c.policy.alpha = alpha;
                c.name = format("{}{}_{}_alpha{}", windows ? "windows_" : "",
                                kept == KeptPlace::host ? "host" : "device",
                                keep == Keep::input ? "input" : "attention",
                                static_cast<int>(alpha * 10));
                cases.push_back(c);
            }
        }
    }
    PolicyCase base;
    base.policy.working = working;
    base.policy.kept = KeptPlace::host;
    base.policy.alpha = 0.3;
    const std::string prefix = windows ? "windows_" : "whole_";
    for (const std::int64_t chunk : {kTile, 4 * kTile, 3 * kTile}) {
        PolicyCase c = base;
        c.chunk = chunk;
        c.name = format("{}chunk{}", prefix, chunk);
        cases.push_back(c);
    }
    for (const int prefetch : {0, 2}) {
        PolicyCase c = base;
        c.policy.prefetch = prefetch;
        c.name = format("{}prefetch{}", prefix, prefetch);
        cases.push_back(c);
    }
    PolicyCase apart = base;
    apart.policy.reuse = ArenaReuse::off;
    apart.name = prefix + "no_reuse";
    cases.push_back(apart);
    return cases;
}

void expect_same_bits(const RigResult& got, const RigResult& want) {
    EXPECT_EQ(got.losses, want.losses);
    EXPECT_EQ(got.grad_norms, want.grad_norms);
    for (const auto& [name, values] : want.weights)
        EXPECT_EQ(got.weights.at(name), values) << name;
    for (const auto& [name, values] : want.gradients)
        EXPECT_EQ(got.gradients.at(name), values) << name;
}

class PolicyTest : public testing::TestWithParam<PolicyCase> {
protected:
    // `expected` is the result of `config` with everything kept on the device.
    static void expect_invisible(RigConfig config, const PolicyCase& c, const RigResult& expected) {
        config.memory = c.policy;
        config.chunk = c.chunk;
        expect_same_bits(run_rig(config), expected);
    }
};

class OneRank : public PolicyTest {};
TEST_P(OneRank, TrainsToTheSameBits) {
    const RigConfig config = job(Mesh::make(1, 1, 1, 1).value());
    static const RigResult expected = run_rig(config);
    expect_invisible(config, GetParam(), expected);
}
TEST_P(OneRank, TrainsToTheSameBitsOnPackedDocuments) {
    RigConfig config = job(Mesh::make(1, 1, 1, 1).value());
    config.documents = {100, 413, 64, 300, 47, 100};
    config.steps = 1;
    static const RigResult expected = run_rig(config);
    expect_invisible(config, GetParam(), expected);
}

class RingAndUlysses : public PolicyTest {};
TEST_P(RingAndUlysses, TrainsToTheSameBits) {
    const RigConfig config = job(Mesh::make(1, 2, 2, 1).value());
    static const RigResult expected = run_rig(config);
    expect_invisible(config, GetParam(), expected);
}

class RingAndTensor : public PolicyTest {};
TEST_P(RingAndTensor, TrainsToTheSameBits) {
    RigConfig config = job(Mesh::make(1, 2, 1, 2).value());
    config.steps = 1;
    config.zero = 3;
    static const RigResult expected = run_rig(config);
    expect_invisible(config, GetParam(), expected);
}

// Several blocks of embedding and head.
class Blocks : public PolicyTest {};
TEST_P(Blocks, TrainToTheSameBits) {
    RigConfig config = job(Mesh::make(2, 1, 1, 1).value());
    config.steps = 1;
    config.zero = 3;
    config.vocabulary_block = 512;
    static const RigResult expected = run_rig(config);
    expect_invisible(config, GetParam(), expected);
}

std::string name_of(const testing::TestParamInfo<PolicyCase>& info) {
    return info.param.name;
}
std::vector<PolicyCase> all_policies() {
    std::vector<PolicyCase> cases = policies(WorkingSet::whole);
    for (PolicyCase& c : policies(WorkingSet::windows))
        cases.push_back(std::move(c));
    return cases;
}
INSTANTIATE_TEST_SUITE_P(Policies, OneRank, testing::ValuesIn(some(all_policies())), name_of);
INSTANTIATE_TEST_SUITE_P(Policies, Blocks, testing::ValuesIn(some(policies(WorkingSet::windows))),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Policies, RingAndUlysses, testing::ValuesIn(some(all_policies())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Policies, RingAndTensor, testing::ValuesIn(some(all_policies())), name_of);

}  // namespace
}  // namespace rm::test
