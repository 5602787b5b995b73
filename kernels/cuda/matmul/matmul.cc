#include "kernels/cuda/matmul/matmul.h"

namespace rm::cuda {

void check_product(const MatrixProduct& product) {
    Dims dims("matrix product");
    dims.bind<"rows columns">(product.out, "out");
    if (product.a_stored == Stored::plain) {
        dims.bind<"rows depth">(product.a, "a");
    } else {
        dims.bind<"depth rows">(product.a, "a");
    }
    if (product.b_stored == Stored::plain) {
        dims.bind<"depth columns">(product.b, "b");
    } else {
        dims.bind<"columns depth">(product.b, "b");
    }
    RM_CHECK(product.a.dtype() == DType::bf16 && product.b.dtype() == DType::bf16,
             "matrix product: a is {}, b is {}; bf16 is multiplied", shape_string(product.a),
             shape_string(product.b));
    RM_CHECK(product.out.dtype() == DType::bf16 || product.out.dtype() == DType::f32,
             "matrix product: out is {}; bf16 and f32 are written", shape_string(product.out));
    RM_CHECK(product.stride_of_a() >= product.a.dim(1), "matrix product: rows of {} every {}",
             product.a.dim(1), product.stride_of_a());
}

}  // namespace rm::cuda
