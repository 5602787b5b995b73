#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/units.h"

namespace rm::load {

// A question that an open page asks again and again, though not while its last answer is fresh
// (max-age), as in a browser.
struct PageQuestion {
    std::string target;  // of a GET, with its query
    Seconds every;
};

struct PageCounts {
    long events = 0;    // of the streams
    long answers = 0;   // to questions, further pages of one counted too
    long fresh = 0;     // questions that were not asked
    double worst = 0;   // seconds until a question's last page
    long faults = 0;    // answers other than 200, broken connections
    std::string fault;  // one of them
};

// Pages that are open in browsers: each reads the controller's stream of events and asks its
// questions. They begin to ask at times spread evenly.
class Pages {
public:
    // `http`: host:port.
    Pages(const std::string& http, int count, const std::vector<PageQuestion>& questions);
    ~Pages();
    PageCounts counts() const;

private:
    class Page;
    std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace rm::load
