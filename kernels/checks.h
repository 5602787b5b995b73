#pragma once

#include "kernels/kernels.h"

// Checks every op's operands on a backend of these types: shapes that agree, types, runs
// that cover their tokens. Called where an op is queued, so that the caller's stack is still there.
// A wrong operand is a CheckError that names the op, the tensor, the letter and both values. Reads
// shapes only. Returns what the letters stand for.
namespace rm {

Dims check_operands(const LinearFwd& op, const NumericTypes& types);
Dims check_operands(const LinearBwdInput& op, const NumericTypes& types);
Dims check_operands(const LinearBwdWeight& op, const NumericTypes& types);
Dims check_operands(const RmsNormFwd& op, const NumericTypes& types);
Dims check_operands(const RmsNormBwd& op, const NumericTypes& types);
Dims check_operands(const RopeTable& op, const NumericTypes& types);
Dims check_operands(const RopeApply& op, const NumericTypes& types);
Dims check_operands(const SwigluFwd& op, const NumericTypes& types);
Dims check_operands(const SwigluBwd& op, const NumericTypes& types);
Dims check_operands(const EmbeddingFwd& op, const NumericTypes& types);
Dims check_operands(const EmbeddingBwd& op, const NumericTypes& types);
Dims check_operands(const LinearCrossEntropy& op, const NumericTypes& types);
Dims check_operands(const HeadStatistics& op, const NumericTypes& types);
Dims check_operands(const CombineHeadStatistics& op, const NumericTypes& types);
Dims check_operands(const HeadBwd& op, const NumericTypes& types);
Dims check_operands(const AttentionBegin& op, const NumericTypes& types);
Dims check_operands(const AttentionFwd& op, const NumericTypes& types);
Dims check_operands(const AttentionFinish& op, const NumericTypes& types);
Dims check_operands(const AttentionDelta& op, const NumericTypes& types);
Dims check_operands(const AttentionBwd& op, const NumericTypes& types);
Dims check_operands(const FillZero& op, const NumericTypes& types);
Dims check_operands(const Copy& op, const NumericTypes& types);
Dims check_operands(const Add& op, const NumericTypes& types);
Dims check_operands(const CopyHeads& op, const NumericTypes& types);
Dims check_operands(const SumParts& op, const NumericTypes& types);
Dims check_operands(const SumSquares& op, const NumericTypes& types);
Dims check_operands(const ClipFactor& op, const NumericTypes& types);
Dims check_operands(const AdamW& op, const NumericTypes& types);

// A weight and the prepared one that is to hold it.
Dims check_prepare(const TensorView& weight, const PreparedWeight& prepared,
                   const NumericTypes& types);

}  // namespace rm
