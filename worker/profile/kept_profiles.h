#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/words.h"
#include "spec/session.h"

namespace rm {

// Whether a worker measures the devices that it offers.
enum class ProfileMode {
    automatic,  // a kind of GPU without a kept profile
    off,        // never
    now         // every kind, kept or not, emulated devices and CPU slots too
};
constexpr auto vocabulary_of(ProfileMode) {
    return vocabulary<ProfileMode>(
        "profile mode",
        {{ProfileMode::automatic, "auto"}, {ProfileMode::off, "off"}, {ProfileMode::now, "now"}});
}

struct ProfileTerms {
    ProfileMode mode = ProfileMode::automatic;
    std::string dir;                   // of the kept files, absolute; made where missing
    std::vector<std::string> command;  // of the child, + a ProfileRequest
    std::string driver;                // profile_driver()
    Precision compute = Precision::bf16;
    int num_slots = 1;         // CPU slots that are measured at once
    std::string build;         // of the kernels
    std::string live_attempt;  // a directory of an attempt that runs here; empty: none
    Seconds budget{20};        // see MeasureOptions
    Seconds limit{60};         // of all kinds together; a child that takes longer is killed
    std::function<std::string()> why_stopped;  // ends a child; see ChildWork
};

// <dir>/<kind>-<driver>-<build>.json
std::string kept_profile_path(const ProfileTerms& terms, const std::string& kind);

// A profile and its file.
struct KeptFile {
    MeasuredProfile profile;
    std::string path;
};

// The measured profiles, by kind of device. Measures what the mode asks
// for, one device of each kind after the other; a failure is logged, and the kind is then left out
// or keeps its old profile. FAILED_PRECONDITION: mode `now` while an attempt runs here.
Result<std::map<std::string, KeptFile>> measured_profiles(const std::vector<DeviceInfo>& devices,
                                                          const ProfileTerms& terms);

}  // namespace rm
