#include "tests/e2e/support/e2e_test.h"

#include <unistd.h>

#include <csignal>
#include <numeric>
#include <sstream>

#include "base/format.h"
#include "base/random.h"

namespace rm::e2e {
namespace {

namespace fs = std::filesystem;

// Longer than `up` waits itself, a minute for the controller and three for workers that measure
// their devices: its own message is the better one.
constexpr Seconds kUpLimit{260};

// Words in a seeded order: enough structure that the loss falls.
std::string some_text(std::uint64_t seed, std::size_t num_words) {
    static constexpr std::string_view kWords[] = {"the",   "ring",   "passes", "its",  "keys",
                                                  "and",   "values", "to",     "next", "rank",
                                                  "until", "every",  "one",    "has",  "seen"};
    Rng rng(seed);
    std::string text;
    for (std::size_t i = 0; i < num_words; ++i) {
        text += kWords[rng.below(std::size(kWords))];
        text += i % 12 == 11 ? ".\n" : " ";
    }
    return text;
}

// Runs a program on a terminal, types each of argv[1] after what it waits for, and prints its
// output.
constexpr const char* kOnATerminal = R"(
import fcntl, json, os, pty, re, select, struct, sys, termios, time
pid, fd = pty.fork()
if pid == 0:
    os.environ['TERM'] = 'xterm'
    os.execv(sys.argv[2], sys.argv[2:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 20, 100, 0, 0))
typed, seen, since, end = json.loads(sys.argv[1]), b'', 0, time.time() + 50
while time.time() < end:
    if not select.select([fd], [], [], 0.2)[0]:
        continue
    try:
        seen += os.read(fd, 65536)
    except OSError:
        break
    if typed and re.search(typed[0][0].encode(), seen[since:], re.DOTALL):
        since = len(seen)
        os.write(fd, typed.pop(0)[1].encode())
else:
    os.kill(pid, 9)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.buffer.write(seen)
sys.exit(code if code >= 0 else 128 - code)
)";

}  // namespace

std::vector<std::int64_t> steps_in(const std::string& log) {
    std::vector<std::int64_t> steps;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("step ")) steps.push_back(std::stoll(line.substr(5)));
    }
    return steps;
}

std::vector<std::int64_t> one_to(std::int64_t last) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(last));
    std::iota(numbers.begin(), numbers.end(), 1);
    return numbers;
}

E2eTest::E2eTest() : programs_(RM_BIN_DIR) {
    std::string pattern = (fs::temp_directory_path() / "rm-e2e-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
    marker_ = "RM_E2E_MARKER=" + dir_.string() + ";";
    fs::create_directories(dir_ / "text");
    fs::create_directories(dir_ / "home");
    for (std::uint64_t i = 0; i < 20; ++i) {
        write_file(path(format("text/{}.txt", i)), some_text(i, 600));
    }
}

E2eTest::~E2eTest() {
    const bool clean = wait_until(Seconds{5}, [this] { return processes_marked(marker_).empty(); });
    EXPECT_TRUE(clean) << processes_marked(marker_).size() << " processes were left behind";
    for (const pid_t pid : processes_marked(marker_))
        kill(pid, SIGKILL);
    if (HasFailure()) {
        for (const auto& entry : fs::recursive_directory_iterator(dir_)) {
            if (entry.path().extension() != ".log") continue;
            const std::string log = read_file(entry.path());
            std::cerr << "---- " << entry.path().string() << "\n"
                      << log.substr(log.size() - std::min<std::size_t>(log.size(), 4000)) << "\n";
        }
    }
    fs::remove_all(dir_);
}

std::string E2eTest::write_job(const JobText& text, const std::string& file) {
    write_file(path(file),
               format("name: {}\nmodel: {}\ndata: {{path: {}}}\nstages:\n{}"
                      "parallel: {}\nmemory: {{tile: 64}}\nevaluate: {}\n{}",
                      text.name, text.model, text.data.empty() ? path("text") : text.data,
                      text.stages, text.parallel, text.evaluate, text.extra));
    return path(file);
}

std::unique_ptr<Process> E2eTest::start(std::vector<std::string> argv) {
    const std::vector<std::string> environment = {
        marker_, "HOME=" + path("home"),
        // The measured peak of the machine's CPU is shared by all tests.
        std::string("XDG_CACHE_HOME=") + RM_CACHE_DIR, "XDG_RUNTIME_DIR=" + path("home"),
        "NO_COLOR=1"};
    return std::make_unique<Process>(argv, environment, path(format("process-{}", num_started_++)));
}

Finished E2eTest::run(std::vector<std::string> argv, Seconds limit) {
    const auto process = start(std::move(argv));
    const auto code = process->wait(limit);
    return {code.value_or(-1), process->out(), process->err()};
}

Finished E2eTest::cli(std::vector<std::string> arguments, Seconds limit) {
    arguments.insert(arguments.begin(), program("ringmaster"));
    return run(std::move(arguments), limit);
}

Finished E2eTest::at(const std::string& state, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--state", state});
    return cli(std::move(arguments));
}

Finished E2eTest::on_terminal(const std::string& state, const std::vector<std::string>& arguments,
                              const std::vector<Typed>& user) {
    Json typed = Json::array();
    for (const Typed& keys : user)
        typed.push_back(Json::array({keys.after, keys.keys}));
    std::vector<std::string> argv = {"/usr/bin/env", "python3",    "-c",
                                     kOnATerminal,   typed.dump(), program("ringmaster"),
                                     "--state",      state};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run(argv);
}

std::unique_ptr<Process> E2eTest::up(const std::string& state, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {program("ringmaster"), "up", "--state", state});
    auto process = start(std::move(arguments));
    const bool ready = wait_until(kUpLimit, [&] {
        return process->err().find(" ready. In another") != std::string::npos ||
               process->wait(Seconds{0});
    });
    if (ready && !process->wait(Seconds{0})) return process;
    ADD_FAILURE() << "up is not ready:\n" << process->out() << process->err();
    return nullptr;
}

void E2eTest::stop(Process& up) {
    up.signal(SIGINT);
    EXPECT_EQ(up.wait(Seconds{60}), 130) << up.out() << up.err();
}

std::string E2eTest::submit(const std::string& state, const std::string& job_file) {
    const Finished submitted = at(state, {"submit", job_file});
    EXPECT_EQ(submitted.code, 0) << submitted.err;
    return submitted.out.substr(0, submitted.out.find('\n'));
}

Json E2eTest::show(const std::string& state, const std::string& id) {
    const Finished shown = at(state, {"show", id, "-o", "json"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    return Json::parse(shown.out, nullptr, false);
}

bool E2eTest::wait_for_state(const std::string& state, const std::string& id,
                             const std::string& wanted, Seconds limit) {
    Json job;
    const bool reached = wait_until(limit, [&] {
        job = show(state, id);
        return job.value("state", "") == wanted;
    });
    EXPECT_TRUE(reached) << "not " << wanted << ": " << job.dump(2);
    return reached;
}

bool E2eTest::wait_for_step(const std::string& state, const std::string& id, std::int64_t step,
                            Seconds limit) {
    Json job;
    const bool reached = wait_until(limit, [&] {
        job = show(state, id);
        const bool stepped = job.contains("lastStep") && job["lastStep"].is_object();
        return stepped && job["lastStep"].value("step", std::int64_t{0}) >= step;
    });
    EXPECT_TRUE(reached) << "not at step " << step << ": " << job.dump(2);
    return reached;
}

std::int64_t E2eTest::last_step_shown(const Process& follower) {
    const std::string lines = "\n" + follower.err();
    const std::size_t at = lines.rfind("\nstep ");
    return at == std::string::npos ? 0 : std::strtoll(lines.c_str() + at + 6, nullptr, 10);
}

void LocalClusterTest::SetUp() {
    cluster_ = up(state_, {"--workers", "2"});
    ASSERT_TRUE(cluster_);
}

void LocalClusterTest::TearDown() {
    if (cluster_) stop(*cluster_);
}

}  // namespace rm::e2e
