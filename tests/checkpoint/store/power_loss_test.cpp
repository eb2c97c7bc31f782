#include "tests/checkpoint/store/power_loss.h"

#include "checkpoint/store/retention.h"
#include "tests/checkpoint/support.h"

namespace power_loss_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::RecordingDisk;
using robustrun::test::save_step;
using robustrun::test::ScratchFolder;
using robustrun::test::TwoMounts;
using robustrun::test::wrong_in;

TEST_CASE("whatever unsynced data a power failure loses, the newest returned commit is there") {
  const TwoMounts mounts("/dev/shm");  // syncing costs nothing there
  RecordingDisk disk;
  Store store = mounts.store(&disk);
  std::vector<std::size_t> returned;  // number of changes when the commit of step i + 1 returned
  const auto save = [&] {
    REQUIRE(save_step(store, returned.size() + 1));
    returned.push_back(disk.changes());
  };
  REQUIRE(store.admit(1));
  save();
  save();
  REQUIRE(prune(disk, mounts.directories, 1, 1));
  save();

  base::Rng rng(7);
  int states = 0;
  int further = 0;
  for (std::size_t count = 0; count <= disk.changes(); ++count) {
    for (int luck = 0; luck < 5; ++luck, ++states) {
      const ScratchFolder left("/dev/shm");
      disk.leave(count, luck, rng, mounts.directories, left.path());
      const std::vector<std::string> directories = {left / "a", left / "b"};
      std::uint64_t promised = 0;
      for (const std::size_t when : returned) promised += when <= count ? 1 : 0;
      CAPTURE(count);
      CAPTURE(luck);
      const auto all = list_attempts(directories);
      REQUIRE(all);
      for (const FoundAttempt& found : *all) {
        REQUIRE(found.state != AttemptState::kDamaged);
        if (found.state != AttemptState::kCommitted) continue;
        // The original files must not help: files are also looked up where they were saved.
        Manifest manifest = found.manifest;
        manifest.head.mounts.assign(manifest.head.mounts.size(), "/nowhere");
        FoundAttempt alone = found;
        alone.manifest = manifest;
        REQUIRE(wrong_in(alone) == "");
      }
      const bool any = !all->empty() && all->front().state == AttemptState::kCommitted;
      const std::uint64_t newest = any ? all->front().attempt.step : 0;
      REQUIRE(newest >= promised);
      further += newest > promised ? 1 : 0;
    }
  }
  CHECK(states > 500);
  CHECK(further > 0);  // commits done but not yet returned
}

}  // namespace power_loss_test
