#pragma once

// Tells the sanitizers about the emulator. Without a sanitizer all of it is nothing.
//
// The thread sanitizer sees every CUDA thread as a thread of its own. The emulator's sources are
// compiled without it, so that its bookkeeping is invisible; what remains visible there is memory
// that is allocated, freed, copied or cleared by a library function, which Quiet hides.
#if defined(__has_feature)
#define RM_HAS_FEATURE(x) __has_feature(x)
#else
#define RM_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || RM_HAS_FEATURE(address_sanitizer)
#define RM_ASAN 1
#include <sanitizer/common_interface_defs.h>
#endif
// RM_TSAN is set by the build: the emulator itself is not compiled with -fsanitize=thread.
#if defined(RM_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace rm::simt {

// A point that orders memory: what came before any release of it comes before what follows a later
// acquire. The address is all that counts.
class RacePoint {
public:
    void release() {
#ifdef RM_TSAN
        __tsan_release(this);
#endif
    }
    void acquire() {
#ifdef RM_TSAN
        __tsan_acquire(this);
#endif
    }

private:
    [[maybe_unused]] char address_ = 0;
};

class Quiet {
public:
    Quiet() {
#ifdef RM_TSAN
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
    }
    ~Quiet() {
#ifdef RM_TSAN
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
    }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
};

}  // namespace rm::simt
