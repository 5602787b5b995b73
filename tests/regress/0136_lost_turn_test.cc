// The controller saw that no program held control.db, applied its inputs and then found the tables
// held after all: it had given its turn back meanwhile. Readers waited ten seconds for the commit,
// which failed and ended the process.
#include <gtest/gtest.h>

#include "controller/store/control_store.h"
#include "controller/store/sqlite.h"
#include "tests/support/temp_dir.h"

namespace rm::test {
namespace {

struct Regress0136 : testing::Test {
    TempDir directory;
    std::string path = directory.file("control.db");
    std::unique_ptr<Store> store = open_control_store(path, nullptr).value();
    Database other = Database::open(path, Access::write).value();

    // Whether the other program can begin to write, without waiting for it.
    bool other_may_write() {
        RM_CHECK(other.execute("PRAGMA busy_timeout = 0").ok(), "no pragma");
        const bool begins = other.begin().ok();
        if (begins) other.roll_back();
        return begins;
    }
};

TEST_F(Regress0136, NobodyElseWritesBetweenTheTurnAndTheCommit) {
    ASSERT_TRUE(store->take_turn());
    EXPECT_FALSE(other_may_write());
    State state;
    state.cluster = ClusterId{"c"};
    Changes changes;
    changes.meta = true;
    ASSERT_TRUE(store->commit(state, changes, {}));
    EXPECT_TRUE(other_may_write());
    EXPECT_EQ(store->load().value().cluster, ClusterId{"c"});
}

TEST_F(Regress0136, ATurnWithNothingToWriteIsGivenBack) {
    ASSERT_TRUE(store->take_turn());
    store->leave_turn();
    EXPECT_TRUE(other_may_write());
    ASSERT_TRUE(store->take_turn());
    store->leave_turn();
    store->leave_turn();  // again: nothing
    EXPECT_TRUE(store->take_turn());
}

}  // namespace
}  // namespace rm::test
