#include "kernels/ops/operands.h"

#include "base/check.h"

namespace rm {

OpAccesses& OpAccesses::add(MemoryRange range, Ranges& ranges, std::size_t& count) {
    if (range.size.value == 0) return *this;
    RM_CHECK(count < kMost, "an op of more than {} ranges", kMost);
    ranges[count++] = range;
    return *this;
}

double OpAccesses::bytes() const {
    Bytes sum;
    for (const MemoryRange& range : reads())
        sum += range.size;
    for (const MemoryRange& range : writes())
        sum += range.size;
    return static_cast<double>(sum.value);
}

Operands& Operands::elements(const TensorView& tensor, std::string_view name) {
    dims_.bind<"elements">({nullptr, tensor.dtype(), {tensor.num_elements()}}, name);
    return list(tensor);
}
Operands& Operands::elements(const TensorView& tensor, std::string_view name, DType dtype) {
    expect(tensor, name, dtype, dtype);
    return elements(tensor, name);
}

Operands& Operands::floats(const TensorView& tensor, std::string_view name, std::int64_t rows,
                           std::int64_t columns) {
    expect(tensor, name, DType::f32, DType::f32);
    RM_CHECK(tensor.rank() == 2 && tensor.dim(0) == rows && tensor.dim(1) == columns,
             "{}: {} is {}, should be ({}, {})", op_, name, shape_string(tensor), rows, columns);
    return list(tensor);
}

Operands& Operands::part_read(MemoryRange range) {
    if (accesses_ != nullptr) accesses_->read(range);
    return *this;
}
Operands& Operands::part_written(MemoryRange range) {
    if (accesses_ != nullptr) accesses_->write(range);
    return *this;
}

void Operands::tokens(std::span<const Run> runs, std::string_view letter,
                      std::string_view name) const {
    RM_CHECK(num_tokens(runs) == dims_[letter], "{}: {} of {} tokens for tensors of {}", op_, name,
             num_tokens(runs), dims_[letter]);
}

Operands& Operands::bind(std::string_view dims, const TensorView& tensor, std::string_view name,
                         DType dtype, DType other) {
    dims_.bind(dims, tensor, name);
    expect(tensor, name, dtype, other);
    return list(tensor);
}

Operands& Operands::bind_weight(std::string_view dims, const PreparedWeight* prepared,
                                std::string_view name, WeightForm form) {
    RM_CHECK(prepared != nullptr, "{}: no prepared weight as {}", op_, name);
    RM_CHECK(prepared->form() == form, "{}: {} is prepared in {}, should be in {}", op_, name,
             to_string(prepared->form()), to_string(form));
    dims_.bind(dims, {nullptr, types_.compute, {prepared->num_rows(), prepared->num_columns()}},
               name);
    return *this;
}

Operands& Operands::list(const TensorView& tensor) {
    if (access_ == Access::read) return part_read(range_of(tensor));
    if (access_ == Access::write) return part_written(range_of(tensor));
    return *this;
}

void Operands::expect(const TensorView& tensor, std::string_view name, DType dtype,
                      DType other) const {
    RM_CHECK(tensor.dtype() == dtype || tensor.dtype() == other, "{}: {} is {}, should be {}{}",
             op_, name, shape_string(tensor), to_string(dtype),
             dtype == other ? "" : format(" or {}", to_string(other)));
}

Dims check_prepare(const TensorView& weight, const PreparedWeight& prepared,
                   const NumericTypes& types) {
    Operands operands("prepare", types);
    operands.weight<"N K">(&prepared, "prepared", prepared.form())
        .compute_or_master<"N K">(weight, "weight");
    return operands.dims();
}

double product_flops(const TensorView& rows, std::int64_t N) {
    return 2.0 * static_cast<double>(rows.dim(0)) * static_cast<double>(rows.dim(1)) *
           static_cast<double>(N);
}

}  // namespace rm
