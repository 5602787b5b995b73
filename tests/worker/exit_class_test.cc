#include "worker/rank/exit_class.h"

#include <gtest/gtest.h>

#include <new>
#include <system_error>

#include "engine/comm/transport/transport.h"
#include "kernels/device.h"
#include "spec/session.h"

namespace rm {
namespace {

int code_of(ErrorCode code, Reached reached) {
    return exit_code_of(Error{code, "words"}, reached);
}

TEST(ExitClass, OfAFileThatIsNotGoodHereIsItsOwnBeforeTraining) {
    for (const ErrorCode code : {ErrorCode::not_found, ErrorCode::permission_denied,
                                 ErrorCode::failed_precondition, ErrorCode::data_loss}) {
        EXPECT_EQ(code_of(code, Reached::setup), kRankBadFiles) << to_string(code);
        EXPECT_EQ(code_of(code, Reached::training), kRankFailed) << to_string(code);
    }
}

TEST(ExitClass, TellsDirectoriesWithoutAWholeCheckpointFromOtherFiles) {
    const auto code = [](ErrorFact fact, Reached reached) {
        return exit_code_of(Error{ErrorCode::data_loss, "words", fact}, reached);
    };
    EXPECT_EQ(code(ErrorFact::no_whole_checkpoint, Reached::setup), kRankNoCheckpoint);
    EXPECT_EQ(code(ErrorFact::no_whole_beginning, Reached::setup), kRankNoBeginning);
    EXPECT_EQ(code(ErrorFact::no_whole_beginning, Reached::training), kRankFailed);
}

TEST(ExitClass, OfWhatEveryNodeFindsBadIsBadInput) {
    // Divergence is invalid_argument (regress 0050), a token beyond the vocabulary out_of_range.
    for (const ErrorCode code : {ErrorCode::invalid_argument, ErrorCode::already_exists,
                                 ErrorCode::unimplemented, ErrorCode::out_of_range}) {
        EXPECT_EQ(code_of(code, Reached::setup), kRankBadInput) << to_string(code);
        EXPECT_EQ(code_of(code, Reached::training), kRankBadInput) << to_string(code);
    }
}

TEST(ExitClass, TellsMemoryFromDisksAndFromOtherRanks) {
    EXPECT_EQ(code_of(ErrorCode::resource_exhausted, Reached::setup), kRankOutOfMemory);
    EXPECT_EQ(code_of(ErrorCode::unavailable, Reached::training), kRankFailed);
    EXPECT_EQ(code_of(ErrorCode::aborted, Reached::training), kRankLostPeer);
}

TEST(ExitClass, OfAThreadThatTheSystemRefusesIsAFaultOfTheNode) {
    const auto thrown = [](std::errc error) {
        return exit_code_of(std::make_exception_ptr(std::system_error(make_error_code(error))));
    };
    EXPECT_EQ(thrown(std::errc::resource_unavailable_try_again), kRankNodeFault);
    EXPECT_EQ(thrown(std::errc::permission_denied), kRankFailed);
}

TEST(ExitClass, OfAStreamsErrorIsThatOfItsCause) {
    const auto queued = [](std::exception_ptr cause) {
        return exit_code_of(std::make_exception_ptr(StreamError("op on stream", std::move(cause))));
    };
    EXPECT_EQ(queued(std::make_exception_ptr(TransportError("gone"))), kRankLostPeer);
    EXPECT_EQ(queued(std::make_exception_ptr(std::bad_alloc())), kRankOutOfMemory);
    EXPECT_EQ(queued(std::make_exception_ptr(DeviceFault("ECC"))), kRankDeviceFault);
    EXPECT_EQ(queued(std::make_exception_ptr(
                  StreamError("late", std::make_exception_ptr(DeviceFault("ECC"))))),
              kRankDeviceFault);
    EXPECT_EQ(queued(nullptr), kRankFailed);
    EXPECT_EQ(exit_code_of(std::make_exception_ptr(std::bad_alloc())), kRankOutOfMemory);
    EXPECT_EQ(exit_code_of(std::make_exception_ptr(std::runtime_error("?"))), kRankFailed);
}

}  // namespace
}  // namespace rm
