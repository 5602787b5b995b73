// The curves of a run whose rank 0 moves: no step is missing and none is there twice, in the
// controller's tables, in the files that it writes beside them, and after its node is gone.
#include <fstream>
#include <sstream>

#include "tests/e2e/support/daemons.h"

namespace rm::e2e {
namespace {

constexpr std::int64_t kSteps = 400;

struct Point {
    std::int64_t step = 0;
    float loss = 0;
    bool operator==(const Point&) const = default;
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

// "step loss" lines.
std::vector<Point> points_of(const std::string& text) {
    std::vector<Point> points;
    std::istringstream stream(text);
    for (Point point; stream >> point.step >> point.loss;)
        points.push_back(point);
    return points;
}

void expect_every_step(const std::vector<Point>& points) {
    ASSERT_EQ(points.size(), static_cast<std::size_t>(kSteps));
    for (std::int64_t i = 0; i < kSteps; ++i)
        ASSERT_EQ(points[static_cast<std::size_t>(i)].step, i + 1);
}

class CurvesOfAMove : public Daemons {
protected:
    CurvesOfAMove() : Daemons(2) {}

    // Trains on w0 until a step, kills the rank there and lets the job go on on w1 to its end.
    void train_and_move() {
        start_controller();
        start_worker("w0");
        submit_job({.stages = format("  - {{context: 256, batch: 512, tokens: {}, "
                                     "learning_rate: 1e-3}}\n",
                                     512 * kSteps),
                    .parallel = "{ring: 1}",
                    .extra = "checkpoint: {every: 50 steps}\n"});
        ASSERT_TRUE(wait_until(Seconds{60}, [&] { return last_step() >= 70; })) << job().dump(2);
        start_worker("w1");
        const std::string first = job()["attempts"][0]["placement"][0].value("nodeId", "");
        kill_rank("w0");
        ASSERT_EQ(there({"drain", first}).code, 0);
        ASSERT_TRUE(wait_until(Seconds{120}, [&] {
            return job().value("state", "") == "succeeded";
        })) << job().dump(2);
        const Json attempts = job()["attempts"];
        ASSERT_GE(attempts.size(), 2u);
        ASSERT_NE(attempts.back()["placement"][0].value("nodeId", ""), first) << "rank 0 has moved";
    }
    // A controller with nothing but the backups.
    void move_to_another_machine() {
        controller_->signal(SIGTERM);
        controller_->wait(Seconds{30});
        std::filesystem::rename(path("c"), path("gone"));
        const Finished restored =
            cli({"restore", path("b.db"), "--state", path("c"), "--telemetry", path("t.db")});
        ASSERT_EQ(restored.code, 0) << restored.err;
        start_controller();
    }
    void kill_rank(const std::string& worker) {
        const std::string file = path(format("{}/attempts/e1/shim.json", worker));
        const Json shim = Json::parse(read_file(file), nullptr, false);
        ASSERT_TRUE(shim.is_object());
        kill(shim["ranks"][0]["pid"], SIGKILL);
    }
    std::int64_t last_step() {
        const Json shown = job();
        const bool stepped =
            shown.is_object() && shown.contains("lastStep") && shown["lastStep"].is_object();
        return stepped ? shown["lastStep"].value("step", std::int64_t{0}) : 0;
    }

    // As `plot` gives them.
    std::vector<Point> plotted() {
        const Finished csv = there({"plot", job_, "--quantity", "loss", "-o", "csv"});
        EXPECT_EQ(csv.code, 0) << csv.err;
        std::vector<Point> points;
        for (const std::string& line : lines_of(csv.out)) {
            if (!line.starts_with(job_)) continue;
            std::istringstream fields(line.substr(job_.size() + 1));
            std::string rank, step, time, loss;
            for (std::string* field : {&rank, &step, &time, &loss})
                std::getline(fields, *field, ',');
            points.push_back({std::stoll(step), std::stof(loss)});
        }
        return points;
    }
    // As a reader of TensorBoard's files gives them, which knows only the format.
    std::vector<Point> read_events(const std::string& directory) {
        const Finished read = run({"/usr/bin/env", "python3", RM_READ_EVENTS, directory, "loss"});
        EXPECT_EQ(read.code, 0) << read.err;
        return points_of(read.out);
    }
};

TEST_F(CurvesOfAMove, HaveEveryStepOnce) {
    train_and_move();
    const std::vector<Point> points = plotted();
    expect_every_step(points);

    const std::string live = path("c/curves/" + job_);
    EXPECT_EQ(read_events(live), points);
    std::vector<std::int64_t> steps;
    for (const std::string& line : lines_of(read_file(live + "/metrics.jsonl"))) {
        const Json row = Json::parse(line);
        if (row.contains("loss")) steps.push_back(row["step"]);
    }
    EXPECT_EQ(steps, one_to(kSteps));

    const Finished exported =
        there({"export-curves", job_, "--format", "tensorboard", "--out", path("runs")});
    ASSERT_EQ(exported.code, 0) << exported.err;
    EXPECT_EQ(read_events(path("runs/" + job_)), points);

    const Finished drawn = there({"plot", job_});
    EXPECT_EQ(drawn.code, 0) << drawn.err;
    EXPECT_NE(drawn.out.find("loss (nats)"), std::string::npos) << drawn.out;
    const Finished unknown = there({"plot", job_, "--quantity", "los"});
    EXPECT_EQ(unknown.code, 4) << unknown.err;
    EXPECT_NE(unknown.err.find("there is no quantity 'los'"), std::string::npos) << unknown.err;

    // Without the nodes that trained it, and after the tables were restored from a backup.
    for (auto& [name, worker] : workers_) {
        worker->signal(SIGTERM);
        worker->wait(Seconds{30});
    }
    workers_.clear();
    EXPECT_EQ(plotted(), points);
    ASSERT_EQ(there({"backup", path("b.db"), "--telemetry", path("t.db")}).code, 0);
    controller_->signal(SIGTERM);
    controller_->wait(Seconds{30});
    const Finished restored = cli({"restore", path("b.db"), "--state", path("c")});
    ASSERT_EQ(restored.code, 0) << restored.err;
    start_controller();
    EXPECT_EQ(plotted(), points);
    move_to_another_machine();
    EXPECT_EQ(plotted(), points);
}

}  // namespace
}  // namespace rm::e2e
