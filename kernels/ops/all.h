#pragma once

#include "kernels/ops/attention.h"
#include "kernels/ops/cross_entropy.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/embedding.h"
#include "kernels/ops/fp8_linear.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/optimizer.h"
#include "kernels/ops/pack.h"
#include "kernels/ops/parts.h"
#include "kernels/ops/rmsnorm.h"
#include "kernels/ops/rope.h"
#include "kernels/ops/swiglu.h"

// Every op, once: X(Op) for each. A backend declares its functions with it, so that an op which it
// forgets is a link error that names the op.
#define RM_EACH_OP(X)        \
    X(LinearFwd)             \
    X(LinearBwdInput)        \
    X(LinearBwdWeight)       \
    X(Quantize)              \
    X(Fp8Scales)             \
    X(Fp8LinearFwd)          \
    X(Fp8LinearBwdInput)     \
    X(Fp8LinearBwdWeight)    \
    X(RmsNormFwd)            \
    X(RmsNormBwd)            \
    X(RopeTable)             \
    X(RopeApply)             \
    X(SwigluFwd)             \
    X(SwigluBwd)             \
    X(EmbeddingFwd)          \
    X(EmbeddingBwd)          \
    X(LinearCrossEntropy)    \
    X(HeadStatistics)        \
    X(CombineHeadStatistics) \
    X(HeadBwd)               \
    X(AttentionBegin)        \
    X(AttentionFwd)          \
    X(AttentionFwd8)         \
    X(AttentionMerge)        \
    X(AttentionFinish)       \
    X(AttentionDelta)        \
    X(AttentionBwd)          \
    X(AttentionBwd8)         \
    X(FillZero)              \
    X(Copy)                  \
    X(Add)                   \
    X(CopyHeads)             \
    X(SumParts)              \
    X(PackRows)              \
    X(UnpackRows)            \
    X(SumSquares)            \
    X(ClipFactor)            \
    X(AdamW)
