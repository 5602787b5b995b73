#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/layout.h"
#include "kernels/device.h"
#include "kernels/tensor.h"

// The vocabulary by which kernels/ops describes ops. An op is a struct of its operands, with
//   * kName, and operands(Operands&): its tensors' shapes and types, and which it reads and writes;
//   * kClass, where predictions tell it apart from OpClass::other;
//   * kTakesWorkspace, where some backend needs scratch for it;
//   * flops() of its matrix products; without it there are none worth counting;
//   * kFlopsPerPair, where these are attention's: for a pair of tokens and an element of a query;
//   * moved_bytes(), where it moves fewer than the bytes of its tensors.
// Everything that a machine or a test knows about ops follows from these and RM_EACH_OP.
namespace rm {

struct NumericTypes {
    DType compute = DType::f32;
    DType accum = DType::f32;
    DType master = DType::f32;
};

enum class Into { overwrite, add };  // where a result goes: replaces, or is summed into, the target

// The numbers of a prepared weight: of the compute type, or those rounded to e4m3 with one scale
// for the whole weight, or with one for each block of 128 x 128.
enum class WeightForm { compute, fp8, fp8_blocks };
constexpr std::string_view to_string(WeightForm form) {
    switch (form) {
        case WeightForm::compute:
            return "the compute type";
        case WeightForm::fp8:
            return "fp8";
        case WeightForm::fp8_blocks:
            return "fp8 with scales of blocks";
    }
    return "";
}

// A weight (N, K) in the form its backend's GEMM wants (oneDNN: packed W and W^T; FP8 on a device:
// the codes of both). Made once, filled by Kernels::prepare after each optimizer step or gather.
class PreparedWeight {
public:
    virtual ~PreparedWeight() = default;
    virtual WeightForm form() const = 0;
    virtual std::int64_t num_rows() const = 0;     // N, the output features
    virtual std::int64_t num_columns() const = 0;  // K, the input features
};

// The bytes that an op reads and writes: a short list without memory of its own. Empty ranges are
// left out. A tensor that an op sums into counts as written; spans are the caller's host memory and
// left out. Prepared weights and workspaces are the backend's own and are added by it.
class OpAccesses {
public:
    OpAccesses& read(MemoryRange range) { return add(range, reads_, num_reads_); }
    OpAccesses& write(MemoryRange range) { return add(range, writes_, num_writes_); }
    double bytes() const;  // of all ranges
    std::span<const MemoryRange> reads() const { return std::span(reads_).first(num_reads_); }
    std::span<const MemoryRange> writes() const { return std::span(writes_).first(num_writes_); }

private:
    static constexpr std::size_t kMost = 8;
    using Ranges = std::array<MemoryRange, kMost>;
    OpAccesses& add(MemoryRange range, Ranges& ranges, std::size_t& count);

    Ranges reads_, writes_;
    std::size_t num_reads_ = 0, num_writes_ = 0;
};

// Binds the operands of one op: their dims and what they store. A wrong operand is a CheckError
// that names the op, the tensor, the letter and both values. Those named after reads() or writes()
// are listed in `accesses`, where there is one. Reads shapes only.
class Operands {
public:
    Operands(std::string_view op, const NumericTypes& types, OpAccesses* accesses = nullptr)
        : op_(op), types_(types), dims_(op), accesses_(accesses) {}

    Operands& reads() { return access(Access::read); }
    Operands& writes() { return access(Access::write); }  // or sums into

    template <DimNames names>
    Operands& compute(const TensorView& tensor, std::string_view name) {
        return bind(names.view(), tensor, name, types_.compute, types_.compute);
    }
    template <DimNames names>
    Operands& accum(const TensorView& tensor, std::string_view name) {
        return bind(names.view(), tensor, name, types_.accum, types_.accum);
    }
    template <DimNames names>
    Operands& master(const TensorView& tensor, std::string_view name) {
        return bind(names.view(), tensor, name, types_.master, types_.master);
    }
    template <DimNames names>
    Operands& compute_or_accum(const TensorView& tensor, std::string_view name) {
        return bind(names.view(), tensor, name, types_.compute, types_.accum);
    }
    template <DimNames names>
    Operands& compute_or_master(const TensorView& tensor, std::string_view name) {
        return bind(names.view(), tensor, name, types_.compute, types_.master);
    }
    template <DimNames names>
    Operands& scalars(const TensorView& tensor, std::string_view name) {
        return bind(names.view(), tensor, name, DType::f64, DType::f64);
    }
    template <DimNames names>
    Operands& indices(const TensorView& tensor, std::string_view name) {
        return bind(names.view(), tensor, name, DType::i32, DType::i32);
    }
    template <DimNames names>
    Operands& codes(const TensorView& tensor, std::string_view name) {
        return bind(names.view(), tensor, name, DType::u8, DType::u8);
    }
    template <DimNames names>
    Operands& floats(const TensorView& tensor, std::string_view name) {
        return bind(names.view(), tensor, name, DType::f32, DType::f32);
    }
    // (rows, columns), which have no letters.
    Operands& floats(const TensorView& tensor, std::string_view name, std::int64_t rows,
                     std::int64_t columns);
    template <DimNames names>
    Operands& weight(const PreparedWeight* prepared, std::string_view name,
                     WeightForm form = WeightForm::compute) {
        return bind_weight(names.view(), prepared, name, form);
    }
    // A tensor of any shape: only how many elements it has counts.
    Operands& elements(const TensorView& tensor, std::string_view name);
    Operands& elements(const TensorView& tensor, std::string_view name, DType dtype);
    // A part of a tensor that has been named before reads() and writes().
    Operands& part_read(MemoryRange range);
    Operands& part_written(MemoryRange range);

    // Runs of as many tokens as the tensors have.
    void tokens(std::span<const Run> runs, std::string_view letter, std::string_view name) const;

    std::int64_t operator[](std::string_view letter) const { return dims_[letter]; }
    const Dims& dims() const { return dims_; }
    const NumericTypes& types() const { return types_; }

private:
    enum class Access { none, read, write };

    Operands& access(Access access) {
        access_ = access;
        return *this;
    }
    // One of the types may be stored.
    Operands& bind(std::string_view dims, const TensorView& tensor, std::string_view name,
                   DType dtype, DType other);
    Operands& bind_weight(std::string_view dims, const PreparedWeight* prepared,
                          std::string_view name, WeightForm form);
    Operands& list(const TensorView& tensor);
    void expect(const TensorView& tensor, std::string_view name, DType dtype, DType other) const;

    std::string_view op_;
    const NumericTypes& types_;
    Dims dims_;
    Access access_ = Access::none;
    OpAccesses* accesses_;
};

// Whether an op is given scratch; the others' workspace is not looked at.
template <typename Op>
constexpr bool takes_workspace = requires {
    Op::kTakesWorkspace;
};

// Checks an op's operands on a backend of these types. Called where an op is queued, so that the
// caller's stack is still there. Returns what the letters stand for.
template <typename Op>
Dims check_operands(const Op& op, const NumericTypes& types) {
    Operands operands(Op::kName, types);
    op.operands(operands);
    return operands.dims();
}
// Likewise, and returns what the op touches.
template <typename Op>
OpAccesses accesses_of(const Op& op, const NumericTypes& types) {
    OpAccesses accesses;
    Operands operands(Op::kName, types, &accesses);
    op.operands(operands);
    return accesses;
}
// A weight and the prepared weight to fill from it.
Dims check_prepare(const TensorView& weight, const PreparedWeight& prepared,
                   const NumericTypes& types);

template <typename Op>
constexpr OpClass class_of() {
    if constexpr (requires { Op::kClass; }) return Op::kClass;
    return OpClass::other;
}
template <typename Op>
double flops_of(const Op& op) {
    if constexpr (requires { op.flops(); }) return op.flops();
    return 0;
}
// 2 T K N of a product of rows (T, K), which may be more than 64 bits hold.
double product_flops(const TensorView& rows, std::int64_t N);

}  // namespace rm
