#include "kernels/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/refusals.h"

namespace rm {
namespace {

using test::check_error_of;
using ::testing::HasSubstr;

TEST(TensorView, KnowsItsShapeAndSize) {
    std::vector<float> memory(24);
    const TensorView x(memory.data(), DType::f32, {2, 3, 4});
    EXPECT_EQ(x.rank(), 3);
    EXPECT_EQ(x.dim(1), 3);
    EXPECT_EQ(x.num_elements(), 24);
    EXPECT_EQ(x.num_bytes(), Bytes{96});
    EXPECT_EQ(x.bytes().size(), 96U);
    EXPECT_EQ(shape_string(x), "(2, 3, 4) f32");
    EXPECT_TRUE(TensorView().empty());
    EXPECT_FALSE(x.empty());
}

TEST(TensorView, RowsCutTheFirstDim) {
    std::vector<double> memory(12);
    const TensorView x(memory.data(), DType::f64, {4, 3});
    const TensorView middle = x.rows(1, 2);
    EXPECT_EQ(middle.as<double>(), memory.data() + 3);
    EXPECT_EQ(middle.dim(0), 2);
    EXPECT_EQ(middle.dim(1), 3);
    EXPECT_EQ(x.rows(4, 0).num_elements(), 0);
    EXPECT_THROW(x.rows(3, 2), CheckError);
    EXPECT_THROW(x.rows(-1, 1), CheckError);
    EXPECT_THAT(check_error_of([&] { x.rows(3, 2); }),
                HasSubstr("rows 3+2 of a tensor (4, 3) f64"));
}

TEST(TensorView, RowsOfAShapeWithoutMemoryHaveNone) {
    const TensorView shape(nullptr, DType::f32, {8, 2});
    EXPECT_TRUE(shape.rows(4, 4).empty());
}

TEST(TensorView, ReshapesToAsManyElementsOnly) {
    std::vector<float> memory(12);
    const TensorView x(memory.data(), DType::f32, {4, 3});
    EXPECT_EQ(x.reshaped({2, 6}).dim(1), 6);
    EXPECT_EQ(x.reshaped({12}).as<float>(), memory.data());
    EXPECT_THAT(check_error_of([&] { x.reshaped({5}); }),
                HasSubstr("(4, 3) f32 reshaped to (5) f32"));
}

TEST(TensorView, IsReadAsWhatItIs) {
    std::vector<float> memory(1);
    const TensorView x(memory.data(), DType::f32, {1});
    EXPECT_EQ(x.as<float>(), memory.data());
    EXPECT_THAT(check_error_of([&] { x.as<double>(); }), HasSubstr("a f32 tensor read as f64"));
}

TEST(TensorView, HasAtMostFourDims) {
    EXPECT_NO_THROW(TensorView(nullptr, DType::f32, {1, 2, 3, 4}));
    EXPECT_THROW(TensorView(nullptr, DType::f32, {1, 2, 3, 4, 5}), CheckError);
}

TEST(DType, HasItsSize) {
    EXPECT_EQ(size_of(DType::f64), 8);
    EXPECT_EQ(size_of(DType::f32), 4);
    EXPECT_EQ(size_of(DType::i32), 4);
    EXPECT_EQ(size_of(DType::bf16), 2);
}

TensorView shape(std::initializer_list<std::int64_t> sizes) {
    return {nullptr, DType::f32, sizes};
}

TEST(Dims, BindsLettersAcrossTensors) {
    Dims dims("rmsnorm_fwd");
    dims.bind<"T C">(shape({8, 64}), "x").bind<"C">(shape({64}), "weight");
    EXPECT_EQ(dims["T"], 8);
    EXPECT_EQ(dims["C"], 64);
}

TEST(Dims, NamesOpTensorLetterAndBothValues) {
    Dims dims("rmsnorm_fwd");
    dims.bind<"T C">(shape({8, 64}), "x");
    const std::string message = check_error_of([&] { dims.bind<"C">(shape({65}), "weight"); });
    EXPECT_THAT(message, HasSubstr("rmsnorm_fwd: C is 65 in weight but 64 in x"));
}

TEST(Dims, ChecksTheNumberOfDims) {
    EXPECT_THAT(check_error_of([&] {
                    Dims("op").bind<"T Hq D">(shape({8, 64}), "q");
                }),
                HasSubstr("op: q should be (T Hq D), is (8, 64) f32"));
    EXPECT_THAT(check_error_of([&] {
                    Dims("op").bind<"T">(shape({8, 64}), "x");
                }),
                HasSubstr("op: x should be (T), is (8, 64) f32"));
}

TEST(Dims, ChecksLiterals) {
    EXPECT_NO_THROW(Dims("op").bind<"3">(shape({3}), "clip"));
    EXPECT_THAT(check_error_of([&] { Dims("op").bind<"3">(shape({2}), "clip"); }),
                HasSubstr("op: a dim of clip should be 3, is 2"));
}

TEST(Dims, RefusesALetterThatWasNeverBound) {
    Dims dims("op");
    dims.bind<"T">(shape({8}), "x");
    EXPECT_THAT(check_error_of([&] { dims["V"]; }), HasSubstr("op: dim V was never bound"));
}

TEST(Dims, TellsLettersFromWords) {
    Dims dims("attention_fwd");
    dims.bind<"T Hq D">(shape({8, 4, 16}), "q").bind<"S Hk D">(shape({9, 2, 16}), "k");
    EXPECT_EQ(dims["Hq"], 4);
    EXPECT_EQ(dims["Hk"], 2);
}

}  // namespace
}  // namespace rm
