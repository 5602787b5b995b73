#include "kernels/cuda/ops.h"

// Linear layers: one product each.
namespace rm::cuda {
namespace {

MatrixProduct product_of(const LinearFwd& op) {
    return {.a = op.x,
            .b = weight_of(op.weight).view(),
            .b_stored = Stored::transposed,
            .out = op.y,
            .into = op.into};
}

MatrixProduct product_of(const LinearBwdInput& op) {
    return {.a = op.d_y, .b = weight_of(op.weight).view(), .out = op.d_x, .into = op.into};
}

MatrixProduct product_of(const LinearBwdWeight& op) {
    return {.a = op.d_y,
            .b = op.x,
            .a_stored = Stored::transposed,
            .out = op.d_weight,
            .into = Into::add};
}

}  // namespace

Bytes workspace_bytes(const LinearFwd& op, const MatMul& matmul) {
    return matmul.workspace_bytes(product_of(op));
}
Bytes workspace_bytes(const LinearBwdInput& op, const MatMul& matmul) {
    return matmul.workspace_bytes(product_of(op));
}
Bytes workspace_bytes(const LinearBwdWeight& op, const MatMul& matmul) {
    return matmul.workspace_bytes(product_of(op));
}

void run(const LinearFwd& op, const Launch& where) {
    where.matmul->run(product_of(op), where.workspace, where);
}
void run(const LinearBwdInput& op, const Launch& where) {
    where.matmul->run(product_of(op), where.workspace, where);
}
void run(const LinearBwdWeight& op, const Launch& where) {
    where.matmul->run(product_of(op), where.workspace, where);
}

}  // namespace rm::cuda
