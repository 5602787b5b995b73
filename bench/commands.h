#pragma once

#include <span>
#include <string>
#include <string_view>

// The commands of ring-bench that have a file of their own. Each takes the words after its name and
// returns the exit code; `ring-bench NAME --help` says what it measures.
namespace rm::bench {

int run_arena(std::span<char*> words);       // 1 where a plan is not the least known
int run_attention8(std::span<char*> words);  // computes; nothing is timed
int run_balance(std::span<char*> words);     // computes; nothing is timed
int run_device(std::span<char*> words);      // measures this machine's device profile
int run_dry_run(std::span<char*> words);     // how long predictions take, and what they say
int run_fits(std::span<char*> words);        // 1 where a published fit is judged otherwise
int run_overlap(std::span<char*> words);     // how much of a delay on every link stays exposed
int run_plan(std::span<char*> words);        // how long searches for plans take, and what they find
int run_placement(std::span<char*> words);   // 1 where an answer is worse than promised
int run_predict(std::span<char*> words);     // 1 if the dry run predicts a step badly
int run_published(std::span<char*> words);   // published steps, as the dry run predicts them
int run_tokenize(std::span<char*> words);
int run_windows(std::span<char*> words);  // 1 where windows wait though the dry run hides them

// A profile's provenance: measured by this command, here and today.
std::string measured_by(std::string_view command);

}  // namespace rm::bench
