#pragma once

#include <string>

#include "base/clock.h"
#include "cli/show/table.h"
#include "ringmaster/v1/topology.pb.h"
#include "service/convert/convert.h"
#include "topology/links.h"

// Measured links as text. Pure: messages and the time in.
namespace rm {

std::string rate_text(double gbit_per_second);   // 48.2 Mbit/s, 9.4 Gbit/s
std::string short_rate(double gbit_per_second);  // 48M, 9.4G

// Rows send, columns receive; darker is faster. Nodes are numbered; the list names them.
void print_heat_map(const Output& out, const pb::LinksReply& links);
// The same with rates.
Table rate_matrix(const pb::LinksReply& links);
// NODE HOST GROUP SENDS RECEIVES
Table surveyed_nodes_table(const pb::LinksReply& links);
// Prints shared cables, degraded links and the survey's progress; nothing if there are none.
void print_cables(const Output& out, const pb::LinksReply& links);
void print_degraded(const Output& out, const pb::LinksReply& links, WallTime now);
std::string survey_line(const pb::SurveyState& survey);

Table link_history_table(const pb::LinkHistoryReply& history);

// The graph that the placement reads.
LinkGraph graph_of(const pb::LinksReply& links);

}  // namespace rm
