#include <gmock/gmock.h>

#include <atomic>

#include "cli/client/calls.h"
#include "controller/ops/ops.h"
#include "controller/rpc/caller.h"
#include "ringmaster/v1/topology.grpc.pb.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMessageLimit = 4 << 20;  // gRPC's

// Ids as long as those of workers, every link measured.
struct Surveyed {
    std::vector<KnownNode> known;
    SurveyView view;

    explicit Surveyed(int num_nodes) {
        for (int i = 0; i < num_nodes; ++i)
            known.push_back({{format("node-{:08x}-of-the-fleet", i)}, format("host-{}", i)});
        LinkBook& book = view.book;
        book.groups = {{{}, {10}, {10}}, {{}, {10}, {10}}};
        for (std::size_t i = 0; i < known.size(); ++i) {
            const NodeId& id = known[i].id;
            book.groups[i % 2].nodes.push_back(id);
            book.nodes[id] = {.egress = {1}, .ingress = {1}, .num_devices = 8, .inside = {}};
            for (const KnownNode& other : known) {
                if (other.id == id) continue;
                book.links[{id, other.id}] = {.flow = {0.5},
                                              .bandwidth = {1},
                                              .latency = {1e-4},
                                              .jitter = {1e-6},
                                              .loss = 0.01,
                                              .measured = {1'700'000'000'123'456},
                                              .alone = true,
                                              .baseline = {1}};
            }
        }
        view.progress.last = 3;
    }

    Result<pb::LinksReply> page(const std::string& token, int size = 0) const {
        pb::LinksRequest request;
        request.set_page_token(token);
        request.set_page_size(size);
        return links_page(known, view, request);
    }
    std::vector<pb::LinksReply> pages(int size) const {
        std::vector<pb::LinksReply> all;
        std::string token;
        do {
            all.push_back(page(token, size).value());
            token = all.back().next_page_token();
        } while (!token.empty());
        return all;
    }
};

pb::LinksReply merged(const std::vector<pb::LinksReply>& pages) {
    pb::LinksReply all;
    for (const pb::LinksReply& page : pages)
        all.MergeFrom(page);
    all.clear_next_page_token();
    return all;
}

TEST(LinksPage, OfThreeHundredNodesFitsIntoAMessageAndTogetherTheyAreTheWhole) {
    const Surveyed surveyed(300);
    const std::vector<pb::LinksReply> pages = surveyed.pages(0);
    EXPECT_GT(pages.size(), 3U);
    for (const pb::LinksReply& page : pages)
        EXPECT_LT(page.ByteSizeLong(), kMessageLimit / 2);
    const pb::LinksReply all = merged(pages);
    EXPECT_GT(all.ByteSizeLong(), kMessageLimit) << "or there was no need of pages";
    ASSERT_EQ(all.nodes_size(), 300);
    ASSERT_EQ(all.links_size(), 300 * 299);
    ASSERT_EQ(all.cables_size(), 2) << "once";
    EXPECT_EQ(all.survey().last(), 3);
    int link = 0;
    for (int from = 0; from < 300; ++from) {
        const std::string& id = surveyed.known[static_cast<std::size_t>(from)].id.value;
        ASSERT_EQ(all.nodes(from).id(), id) << "in order of registration";
        ASSERT_EQ(all.nodes(from).hostname(), format("host-{}", from));
        for (int to = 0; to < 300; ++to) {
            if (to == from) continue;
            ASSERT_EQ(all.links(link).from(), id);
            ASSERT_EQ(all.links(link++).to(),
                      surveyed.known[static_cast<std::size_t>(to)].id.value);
        }
    }
    EXPECT_TRUE(merged(surveyed.pages(40)).SerializeAsString() == all.SerializeAsString());
}

TEST(LinksPage, HasAsManyNodesAsWereAskedFor) {
    const std::vector<pb::LinksReply> pages = Surveyed(5).pages(2);
    ASSERT_EQ(pages.size(), 3U);
    EXPECT_EQ(pages[0].nodes_size(), 2);
    EXPECT_EQ(pages[0].links_size(), 2 * 4);
    EXPECT_EQ(pages[1].links(0).from(), pages[1].nodes(0).id());
    EXPECT_EQ(pages[2].nodes_size(), 1);
    EXPECT_EQ(Surveyed(5).pages(0).size(), 1U);
    EXPECT_EQ(Surveyed(0).pages(0)[0].survey().last(), 3) << "also without nodes";
}

TEST(LinksPage, OfAnotherSurveyIsRefused) {
    Surveyed surveyed(5);
    const std::string token = surveyed.page("", 2)->next_page_token();
    ASSERT_TRUE(surveyed.page(token));
    surveyed.view.progress.running = 4;
    EXPECT_TRUE(surveyed.page(token)) << "one that runs has changed nothing yet";
    surveyed.view.progress = {.last = 4};
    const auto late = surveyed.page(token);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::aborted);
    EXPECT_THAT(late.error().message, HasSubstr("were of survey 3, but survey 4 has ended since"));
}

TEST(LinksPage, OfATokenThatNoPageGaveIsRefused) {
    const Surveyed surveyed(5);
    for (const char* token : {"x", "3", "3.5", "3.5.", "3.5.1x", "3.5.-1", "3.5.5", "3.5.01", "."})
        EXPECT_EQ(surveyed.page(token).error().code, ErrorCode::invalid_argument) << token;
}

// Serves the pages over real gRPC; a survey ends after this many of them.
class PagesServer final : public pb::TopologyService::Service {
public:
    explicit PagesServer(Surveyed surveyed) : surveyed_(std::move(surveyed)) {}

    grpc::Status Links(grpc::ServerContext*, const pb::LinksRequest* request,
                       pb::LinksReply* reply) override {
        if (num_served++ == survey_ends_before) ++surveyed_.view.progress.last;
        if (survey_ends_always) ++surveyed_.view.progress.last;
        return answer(links_page(surveyed_.known, surveyed_.view, *request), reply);
    }
    Client client() {
        auto client = Client::open({.address = address_, .security = {}}, [](std::string_view) {});
        RM_CHECK(client.ok(), "{}", client.error().message);
        return *std::move(client);
    }

    std::atomic<int> num_served = 0;
    int survey_ends_before = -1;
    bool survey_ends_always = false;

private:
    Surveyed surveyed_;  // of one call at a time
    const TempDir directory_;
    const std::string address_ = "unix:" + directory_.file("s.sock");
    const std::unique_ptr<GrpcServer> server_ = GrpcServer::start({address_}, {this}).value();
};

TEST(LinksOfAClient, AreAllPagesOfThreeHundredNodes) {
    const Surveyed surveyed(300);
    PagesServer server(surveyed);
    const auto links = read_links(server.client());
    ASSERT_TRUE(links) << links.error().message;
    EXPECT_GT(server.num_served, 3);
    EXPECT_TRUE(links->SerializeAsString() == merged(surveyed.pages(0)).SerializeAsString());
    const auto state = survey_state(server.client());
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->last(), 3);
}

TEST(LinksOfAClient, BeginAgainWhenASurveyEndsBetweenTwoPages) {
    PagesServer server(Surveyed(150));
    server.survey_ends_before = 1;
    const auto links = read_links(server.client());
    ASSERT_TRUE(links) << links.error().message;
    EXPECT_EQ(links->survey().last(), 4) << "nothing of the one before";
    EXPECT_EQ(links->nodes_size(), 150);
    EXPECT_EQ(links->links_size(), 150 * 149);
    EXPECT_EQ(links->cables_size(), 2);
}

TEST(LinksOfAClient, AreGivenUpWhenSurveysNeverStopEnding) {
    PagesServer server(Surveyed(150));
    server.survey_ends_always = true;
    const auto links = read_links(server.client());
    ASSERT_FALSE(links);
    EXPECT_EQ(links.error().code, ErrorCode::aborted);
    EXPECT_LT(server.num_served, 20);
}

}  // namespace
}  // namespace rm::test
