#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "spec/job_members.h"
#include "spec/report_members.h"
#include "spec/session_members.h"

// A description names every member of its structure to the visitor. A member in the structured
// binding that no call visits would be in no form, and no compiler would notice.
namespace rm::test {
namespace {

template <typename T>
constexpr bool kIsOptional = false;
template <typename T>
constexpr bool kIsOptional<std::optional<T>> = true;

// Initializes a member of any type; an optional takes it by its own constructor.
struct Any {
    template <typename T>
    requires(!kIsOptional<T>) operator T() const;  // NOLINT(google-explicit-constructor)
};

template <typename T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires {
        T{(static_cast<void>(I), Any{})...};
    };
}
// Members of an aggregate.
template <typename T, std::size_t N = 40>
constexpr std::size_t arity() {
    if constexpr (N == 0 || takes<T>(std::make_index_sequence<N>()))
        return N;
    else
        return arity<T, N - 1>();
}

template <typename T>
constexpr std::size_t kToVisit = arity<T>();
// The members of its plan stand beside its own, without placement, prediction and rates.
template <>
constexpr std::size_t kToVisit<LaunchAttempt> = arity<LaunchAttempt>() - 1 + arity<Plan>() - 3;

// Counts the members that a description visits, and checks the structures below.
struct Counter {
    template <typename T>
    void operator()(const Member&, T&);
    template <typename... Parts>
    void interval(const Member&, Parts&...) {
        visited += sizeof...(Parts);
    }
    template <typename... Parts>
    void mesh(const Member&, Parts&...) {
        visited += sizeof...(Parts);
    }
    std::size_t visited = 0;
};

template <Described T>
void check() {
    T value{};
    Counter counter;
    describe(counter, value);
    EXPECT_EQ(counter.visited, kToVisit<T>) << __PRETTY_FUNCTION__;
}

template <typename T>
void Counter::operator()(const Member&, T&) {
    ++visited;
    if constexpr (Described<T>) check<T>();
    if constexpr (requires { typename T::value_type; }) {
        if constexpr (Described<typename T::value_type>) check<typename T::value_type>();
    }
    if constexpr (requires { typename T::mapped_type; }) {
        if constexpr (Described<typename T::mapped_type>) check<typename T::mapped_type>();
    }
}

TEST(Descriptions, VisitEveryMember) {
    check<JobSpec>();
    check<StepReport>();
    check<EvaluationReport>();
    check<SuiteReport>();
    check<ConnectedReport>();
    check<Hello>();
    check<MeasuredProfile>();
    check<AttemptStatus>();
    check<LaunchAttempt>();
    check<Pong>();
    check<CommandRefused>();
    check<RootsReport>();
    check<DevicesReport>();
    check<FilesChecked>();
    check<RootProbed>();
    check<ProbeReport>();
    check<BridgeSample>();
    check<HelloReply>();
    check<Ping>();
    check<StopAttempt>();
    check<ForgetAttempt>();
    check<CheckFiles>();
    check<ProbeRoot>();
    check<ExpectProbe>();
    check<RunProbe>();
}

}  // namespace
}  // namespace rm::test
