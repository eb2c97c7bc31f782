// One bit flipped in any byte of each kind of control file. For data and parity see store_test and
// parity_test, for copies in memory staging_test.

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/io/fd.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/retention.h"
#include "tests/checkpoint/rounds.h"
#include "tests/checkpoint/support.h"
#include "tests/support/sanitized.h"

namespace bit_flips_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::SampleState;
using robustrun::test::save_step;
using robustrun::test::TwoMounts;
using robustrun::test::wrong_in;

namespace {

void flip(const std::string& path, std::uint64_t byte, int bit) {
  const base::Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(file);
  char value = 0;
  REQUIRE(::pread(file.get(), &value, 1, static_cast<off_t>(byte)) == 1);
  value = static_cast<char>(value ^ (1 << bit));
  REQUIRE(::pwrite(file.get(), &value, 1, static_cast<off_t>(byte)) == 1);
}

// All bytes if that takes seconds; a different sample each time if it takes minutes.
constexpr std::uint64_t kEveryByte = test::kSanitized ? 7 : 1;

// Calls `look` with one bit of each byte flipped in turn, then with the file as it was.
void flip_each(const std::string& path, base::Rng& rng, const std::function<void()>& look) {
  const std::uint64_t bytes = std::filesystem::file_size(path);
  REQUIRE(bytes > 0);
  for (std::uint64_t byte = rng.below(kEveryByte); byte < bytes; byte += kEveryByte) {
    const int bit = static_cast<int>(rng.below(8));
    CAPTURE(path);
    CAPTURE(byte);
    CAPTURE(bit);
    flip(path, byte, bit);
    look();
    flip(path, byte, bit);
  }
}

struct Flips {
  std::uint64_t seed = test::test_seed();
  base::Rng rng{seed};
  TwoMounts mounts{"/dev/shm"};
  Store store = mounts.store(nullptr, 1);

  [[nodiscard]] FoundAttempt newest() const {
    auto found = newest_committed(mounts.directories);
    REQUIRE(found);
    return *std::move(found);
  }
  [[nodiscard]] std::string at_home(const std::string& name) const {
    return mounts.directories[0] + "/" + name;
  }
};

}  // namespace

TEST_CASE(
    "a bit flipped in any byte of INTENT or a part: no commit, no salvage, and a named cause") {
  Flips flips;
  CAPTURE(flips.seed);
  const SampleState state(1);
  const auto attempt = flips.store.begin(1, 1, {1, {}}, {"n0"});
  REQUIRE(attempt);
  REQUIRE(flips.store.write_part(*attempt, "n0", state.contents));
  for (const std::string name : {"INTENT", "part-n0.rrp"}) {
    const std::string path = flips.at_home(attempt_folder(*attempt) + "/" + name);
    flip_each(path, flips.rng, [&] {
      const auto refused = flips.store.commit(*attempt, 1);
      REQUIRE_FALSE(refused);
      REQUIRE(refused.error().what.find(name) != std::string::npos);
      REQUIRE_FALSE(flips.store.commit_if_complete(*attempt, 1));
      REQUIRE(flips.store.salvage(1)->empty());
      REQUIRE_FALSE(newest_committed(flips.mounts.directories));
    });
  }
  REQUIRE(flips.store.commit(*attempt, 1));
  CHECK(wrong_in(flips.newest()) == "");
}

TEST_CASE(
    "a bit flipped in any byte of a MANIFEST: its copy or an older step is used, and reported") {
  Flips flips;
  CAPTURE(flips.seed);
  REQUIRE(save_step(flips.store, 1));
  REQUIRE(save_step(flips.store, 2));
  const FoundAttempt second = flips.newest();
  for (const std::string& folder : second.folders) {
    flip_each(folder + "/MANIFEST", flips.rng, [&] {
      const FoundAttempt found = flips.newest();
      REQUIRE(found.attempt == second.attempt);
      REQUIRE(found.digest == second.digest);
      REQUIRE(found.notes.size() == 1);
      REQUIRE(found.notes.front().find(folder) == 0);
    });
  }
  flip(second.folders[1] + "/MANIFEST", 77, 3);
  flip_each(second.folders[0] + "/MANIFEST", flips.rng, [&] {
    REQUIRE(flips.newest().attempt.step == 1);
    REQUIRE(list_attempts(flips.mounts.directories)->back().state == AttemptState::kDamaged);
  });
}

TEST_CASE("a bit flipped in any byte of FENCE stops all commits; in LATEST it does not matter") {
  Flips flips;
  CAPTURE(flips.seed);
  REQUIRE(flips.store.claim({"run", 0}));
  REQUIRE(save_step(flips.store, 1));
  const FoundAttempt first = flips.newest();
  flip_each(flips.at_home("FENCE"), flips.rng, [&] {
    REQUIRE(flips.store.begin(2, 1, {1, {}}, {"n0"}).error().what.find("FENCE") !=
            std::string::npos);
    REQUIRE_FALSE(flips.store.commit(first.attempt, 1));
    REQUIRE_FALSE(flips.store.claim({"run", 1}));
    REQUIRE_FALSE(flips.store.admit(9));
    REQUIRE_FALSE(prune(posix_disk(), flips.mounts.directories, 1));
    REQUIRE(flips.newest().attempt == first.attempt);
  });
  flip_each(flips.at_home("LATEST"), flips.rng,
            [&] { REQUIRE(flips.newest().attempt == first.attempt); });
  REQUIRE(save_step(flips.store, 2));
  CHECK(wrong_in(flips.newest()) == "");
}

TEST_CASE("a bit flipped in any byte of a mark never makes a checkpoint more trusted") {
  Flips flips;
  CAPTURE(flips.seed);
  REQUIRE(save_step(flips.store, 1));
  REQUIRE(verify_and_mark(posix_disk(), flips.newest()));
  REQUIRE(save_step(flips.store, 2));
  const FoundAttempt second = flips.newest();
  REQUIRE(verify_and_mark(posix_disk(), second));
  REQUIRE(set_pinned(posix_disk(), second, true));
  flip_each(second.folders[0] + "/VERIFIED", flips.rng,
            [&] { REQUIRE_FALSE(flips.newest().verified); });
  flip_each(second.folders[0] + "/PINNED", flips.rng, [&] { REQUIRE(flips.newest().pinned); });
  REQUIRE(mark_poisoned(posix_disk(), second, "nan"));
  for (const std::string& folder : second.folders) {
    flip_each(folder + "/POISONED", flips.rng, [&] { REQUIRE(flips.newest().attempt.step == 1); });
  }
}

}  // namespace bit_flips_test
