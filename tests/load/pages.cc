#include "tests/load/pages.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/text.h"
#include "service/address.h"

namespace rm::load {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

Clock::duration span_of(Seconds seconds) {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(seconds.value));
}

// A connection that stays.
class Connection {
public:
    explicit Connection(const std::string& address) : address_(address) {
        const HostPort place = parse_host_port(address).value();
        socket_.connect(
            {asio::ip::make_address(place.host), static_cast<unsigned short>(place.port)});
    }
    void send(const std::string& target) {
        http::request<http::empty_body> request{http::verb::get, target, 11};
        request.set(http::field::host, address_);
        http::write(socket_, request);
    }
    http::response<http::string_body> get(const std::string& target) {
        send(target);
        http::response_parser<http::string_body> parser;
        parser.body_limit(std::uint64_t{256} << 20);
        http::read(socket_, buffer_, parser);
        return parser.release();
    }
    // Waits for some; returns how many lines came.
    std::size_t read_events() {
        char text[64 * 1024];
        const std::size_t size = socket_.read_some(asio::buffer(text));
        return static_cast<std::size_t>(std::count(text, text + size, '\n'));
    }
    void shut_down() {
        boost::system::error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_both, ignored);
    }

private:
    const std::string address_;
    asio::io_context io_;
    tcp::socket socket_{io_};
    boost::beast::flat_buffer buffer_;
};

// The token of the page that follows; empty: it is the last.
std::string next_page(const std::string& json) {
    constexpr std::string_view kName = "\"nextPageToken\":\"";
    const auto at = json.rfind(kName);
    if (at == json.npos) return "";
    const auto begin = at + kName.size();
    return json.substr(begin, json.find('"', begin) - begin);
}

Seconds fresh_for(const http::response<http::string_body>& response) {
    const auto field = response[http::field::cache_control];
    const std::string_view text(field.data(), field.size());
    constexpr std::string_view kName = "max-age=";
    const auto at = text.find(kName);
    if (at == text.npos) return {};
    return {static_cast<double>(
        parse_number<std::int64_t>(text.substr(at + kName.size())).value_or(0))};
}

}  // namespace

class Pages::Page {
public:
    Page(const std::string& address, const std::vector<PageQuestion>& questions, double shift)
        : address_(address), stream_(address) {
        for (const PageQuestion& question : questions)
            asks_.push_back({question, Clock::now() + span_of({shift * question.every.value}), {}});
        stream_.send("/api/v1/stream");
        reader_ = std::thread([this] { guarded([this] { read_stream(); }); });
        asker_ = std::thread([this] { guarded([this] { ask(); }); });
    }
    ~Page() {
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
        }
        closed_.notify_all();
        stream_.shut_down();
        asker_.join();
        reader_.join();
    }
    PageCounts counts() const {
        const std::lock_guard lock(mutex_);
        return counts_;
    }

private:
    struct Ask {
        PageQuestion question;
        Clock::time_point due;
        Clock::time_point fresh_until;
    };

    template <typename Work>
    void guarded(const Work& work) {
        try {
            work();
        } catch (const std::exception& failure) {
            const std::lock_guard lock(mutex_);
            if (!closing_) note_fault(failure.what());
        }
    }
    void note_fault(const std::string& fault) {
        ++counts_.faults;
        counts_.fault = fault;
    }
    void read_stream() {
        for (;;) {
            const std::size_t lines = stream_.read_events();
            const std::lock_guard lock(mutex_);
            counts_.events += static_cast<long>(lines);
        }
    }
    void ask() {
        std::unique_lock lock(mutex_);
        while (!closing_ && !asks_.empty()) {
            const auto next =
                std::min_element(asks_.begin(), asks_.end(),
                                 [](const Ask& a, const Ask& b) { return a.due < b.due; });
            if (closed_.wait_until(lock, next->due, [this] { return closing_; })) return;
            next->due += span_of(next->question.every);
            if (Clock::now() < next->fresh_until) {
                ++counts_.fresh;
                continue;
            }
            lock.unlock();
            answer(*next);
            lock.lock();
        }
    }
    // All pages of the answer.
    void answer(Ask& ask) {
        const auto begin = Clock::now();
        Connection connection(address_);  // the server closes those that are idle
        std::string token;
        do {
            const auto response =
                connection.get(ask.question.target + (token.empty() ? "" : "&page_token=" + token));
            const std::lock_guard lock(mutex_);
            ++counts_.answers;
            if (response.result_int() != 200) note_fault(response.body());
            ask.fresh_until = Clock::now() + span_of(fresh_for(response));
            token = next_page(response.body());
        } while (!token.empty());
        const std::lock_guard lock(mutex_);
        counts_.worst =
            std::max(counts_.worst, std::chrono::duration<double>(Clock::now() - begin).count());
    }

    mutable std::mutex mutex_;
    std::condition_variable closed_;
    bool closing_ = false;
    PageCounts counts_;
    std::vector<Ask> asks_;
    const std::string address_;
    Connection stream_;
    std::thread reader_;
    std::thread asker_;
};

Pages::Pages(const std::string& http, int count, const std::vector<PageQuestion>& questions) {
    for (int i = 0; i < count; ++i)
        pages_.push_back(std::make_unique<Page>(http, questions, static_cast<double>(i) / count));
}

Pages::~Pages() = default;

PageCounts Pages::counts() const {
    PageCounts all;
    for (const auto& page : pages_) {
        const PageCounts one = page->counts();
        all.events += one.events;
        all.answers += one.answers;
        all.fresh += one.fresh;
        all.worst = std::max(all.worst, one.worst);
        all.faults += one.faults;
        if (one.faults > 0) all.fault = one.fault;
    }
    return all;
}

}  // namespace rm::load
