#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace rm::test {

struct Values {
    std::vector<double> numbers;
    DType dtype = DType::f64;
    bool operator==(const Values&) const = default;
};
using Outputs = std::map<std::string, Values>;

// The implementation chooses the dtypes of compute, accum and master.
enum class Role { compute, accum, master, f64, f32, bf16, i32, u8 };

using Shape = std::initializer_list<std::int64_t>;

// Runs ops on one implementation with the same inputs on every implementation: the i-th requested
// tensor holds the same numbers everywhere, rounded to `precision` for compute tensors and to f32
// for all others.
class Harness {
public:
    Harness(Kernels& kernels, std::uint64_t seed, DType precision = DType::f32);

    Kernels& kernels() { return kernels_; }
    Stream& stream() { return *stream_; }

    TensorView input(Role role, Shape shape,
                     double scale = 1);  // normal, standard deviation `scale`
    // Likewise, each number as `change` makes it of its index and of one with deviation 1.
    TensorView input(Role role, Shape shape,
                     const std::function<double(std::size_t, double)>& change);
    TensorView filled(Role role, Shape shape, double value);
    TensorView output(Role role, Shape shape);  // NaN until written
    TensorView tokens(std::int64_t count, std::int64_t below, std::int64_t first = 0);
    const PreparedWeight& prepared(std::int64_t num_rows, std::int64_t num_columns);
    const PreparedWeight& prepared(const TensorView& weight, WeightForm form = WeightForm::compute);
    const PreparedWeight& prepared(const Fp8Matrix& weight);
    // Outputs, with one scale or one for each block.
    Fp8Matrix codes(std::int64_t rows, std::int64_t columns, Fp8 format);
    Fp8Matrix block_codes(std::int64_t rows, std::int64_t columns, Fp8 format);
    // Filled with NaNs; exactly as large as the op requires.
    template <typename Op>
    Workspace workspace(const Op& op) {
        return make_workspace(kernels_.workspace_bytes(op));
    }

    void keep(const std::string& name, const TensorView& tensor) { kept_[name] = tensor; }
    Outputs outputs();  // all kept tensors, after all queued work has run
    std::vector<double> read(const TensorView& tensor);

private:
    DType dtype_of_role(Role role) const;
    TensorView upload(DType dtype, Shape shape, std::span<const double> numbers);
    Workspace make_workspace(Bytes size);

    Kernels& kernels_;
    std::uint64_t seed_;
    DType precision_;
    std::uint64_t num_inputs_ = 0;
    std::vector<Tensor> tensors_;
    std::vector<Buffer> workspaces_;
    std::vector<std::unique_ptr<PreparedWeight>> weights_;
    std::map<std::string, TensorView> kept_;
    std::unique_ptr<Stream> stream_;  // last: drains before the members that it uses are destroyed
};

// Passes if max|x - r| <= 2 max|n - r| + ulp(max|r|) for every tensor, where r is the fp64 result
// on the same inputs and n the naive one with x's storage types.
// `more_f32_ulps` of max|r| are added for hardware that does not round its f32 sums to nearest.
void expect_as_good_as_naive(const Outputs& x, const Outputs& reference, const Outputs& naive,
                             double more_f32_ulps = 0);

// Expects every bit of every tensor to be equal.
void expect_identical(const Outputs& x, const Outputs& y);

}  // namespace rm::test
