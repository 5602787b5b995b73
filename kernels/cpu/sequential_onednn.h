#pragma once

#include <dlfcn.h>

namespace rm::cpu {

// While it lives, oneDNN called on this thread uses this thread alone. The library takes its number
// of threads from OpenMP's per-thread setting, when a primitive is made and when it runs; with
// another threading runtime there is nothing to set.
class SequentialOneDnn {
public:
    SequentialOneDnn() : previous_(get_max() ? get_max()() : 0) { set(1); }
    ~SequentialOneDnn() { set(previous_); }
    SequentialOneDnn(const SequentialOneDnn&) = delete;
    SequentialOneDnn& operator=(const SequentialOneDnn&) = delete;

private:
    using Get = int (*)();
    using Set = void (*)(int);
    static Get get_max() {
        static const auto get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
        return get;
    }
    static void set(int num_threads) {
        static const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
        if (set && num_threads > 0) set(num_threads);
    }

    int previous_;
};

}  // namespace rm::cpu
