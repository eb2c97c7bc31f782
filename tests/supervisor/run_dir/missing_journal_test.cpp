#include <doctest/doctest.h>

#include "supervisor/run_dir/journal.h"
#include "tests/scratch_folder.h"

namespace robustrun::supervisor::missing_journal_test {

TEST_CASE("a missing journal is not found") {
  const robustrun::test::ScratchFolder folder;
  const auto readout = read_run_journal(folder / "nothing");
  REQUIRE_FALSE(readout);
  CHECK(readout.error().code == base::Errc::kNotFound);
}

}  // namespace robustrun::supervisor::missing_journal_test
