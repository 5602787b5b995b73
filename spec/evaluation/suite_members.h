#pragma once

#include "spec/evaluation/suite_spec.h"
#include "spec/member.h"

// The members of what an evaluation examines, for every form: see member.h.
namespace rm {

template <typename Visit>
void describe(Visit& visit, Like<SuiteSpec> auto& suite) {
    auto& [kind, name, every, lengths, depths, samples, distractors, digits, tasks, seed] = suite;
    visit(Member{.name = "suite",
                 .help = "`niah`: needles in a haystack, or `ruler`: RULER's synthetic tasks"},
          kind);
    visit(Member{.name = "name",
                 .help = "in reports; suites of one job have different names",
                 .absent = "the suite's"},
          name);
    visit(Member{.name = "every",
                 .help = "steps",
                 .written = Written::steps,
                 .absent = "only at the end"},
          every);
    visit(Member{.name = "lengths",
                 .help = "a list of tokens of a text, also beyond the context",
                 .written = Written::tokens,
                 .absent = "a quarter, a half and all of the stage's context"},
          lengths);
    visit(Member{.name = "depths",
                 .help = "of `niah`: places of the needle, from the first sentence to the last"},
          depths);
    visit(Member{.name = "samples",
                 .help = "texts of each length and depth or task",
                 .absent = "`niah`: 4, `ruler`: 10"},
          samples);
    visit(Member{.name = "distractors", .help = "of `niah`: needles that are not asked for"},
          distractors);
    visit(Member{.name = "digits", .help = "of `niah`: of a needle's number, 1 to 15"}, digits);
    visit(Member{.name = "tasks",
                 .help = "of `ruler`: a list of `niah_single_1`, `niah_single_2`, `niah_single_3`, "
                         "`niah_multikey_1`, `niah_multikey_2`, `niah_multikey_3`, "
                         "`niah_multivalue`, `niah_multiquery`, `vt`, `cwe`, `fwe`",
                 .absent = "all"},
          tasks);
    visit(Member{.name = "seed", .help = "of the texts"}, seed);
}

template <typename Visit>
void describe(Visit& visit, Like<PromptSpec> auto& sample) {
    auto& [prompt, tokens, temperature, top_p, seed] = sample;
    visit(Member{.name = "prompt", .help = "the text", .presence = Presence::required}, prompt);
    visit(Member{.name = "tokens", .help = "to add, at most; up to 1,000"}, tokens);
    visit(Member{.name = "temperature", .help = "of the draw; 0: the likeliest token"},
          temperature);
    visit(Member{.name = "top_p", .help = "draws from the likeliest tokens with this probability"},
          top_p);
    visit(Member{.name = "seed", .help = "of the draw"}, seed);
}

}  // namespace rm
