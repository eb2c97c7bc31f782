#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/io/fd.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/fence.h"
#include "checkpoint/store/retention.h"
#include "tests/checkpoint/faulty_disk.h"
#include "tests/checkpoint/support.h"
#include "tests/paths.h"

namespace session_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::FaultyDisk;
using robustrun::test::SampleState;
using robustrun::test::save_step;
using robustrun::test::TwoMounts;
using robustrun::test::wrong_in;

namespace {

const Session kFirst{"run-a", 0};
const Session kSecond{"run-a", 1};

AttemptId attempt_of(const Session& session, std::uint64_t generation, std::uint64_t step,
                     std::uint64_t saves_before = 0) {
  return {step, generation, attempt_token(session, step, saves_before)};
}

// What one of `writers` does for a step: join, write its part, and commit if it is the last.
base::Result<Completion> save_as(Store& store, const AttemptId& attempt, const std::string& writer,
                                 const std::vector<std::string>& writers) {
  const SampleState state(attempt.step);
  RR_TRY(store.join(attempt, {1, {}}, writers));
  RR_TRY(store.write_part(attempt, writer, state.contents));
  return store.commit_if_complete(attempt, attempt.generation);
}

pid_t start_rank(const Session& session, int rank, int world, int steps,
                 const std::vector<std::string>& directories) {
  std::vector<std::string> words = {test_helper("checkpoint_rank"),  session.run,
                                    std::to_string(session.attempt), std::to_string(rank),
                                    std::to_string(world),           std::to_string(steps)};
  words.insert(words.end(), directories.begin(), directories.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char* environment[] = {nullptr};
  pid_t pid = -1;
  REQUIRE(::posix_spawn(&pid, argv.front(), nullptr, nullptr, argv.data(), environment) == 0);
  return pid;
}

int exit_code_of(pid_t pid) {
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("all processes of a session get one generation, and the next session gets a higher one") {
  const TwoMounts mounts("/dev/shm");
  Store one = mounts.store();
  Store other = mounts.store();
  CHECK(one.claim(kFirst).value() == 1);
  CHECK(other.claim(kFirst).value() == 1);
  CHECK(one.admit(1));  // by a caller without sessions: the session keeps its generation
  CHECK(other.claim(kFirst).value() == 1);
  CHECK(other.claim(kSecond).value() == 2);
  const auto late = one.claim(kFirst);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == base::Errc::kConflict);
  CHECK(late.error().what == "attempt 0 of run-a may not save any more: attempt 1 was here");
  CHECK(one.claim({"run-b", 0}).value() == 3);  // another run takes over
  for (const char* name : {"", "two words", "line\nend"}) CHECK_FALSE(one.claim({name, 0}));
  CHECK_FALSE(one.claim({std::string(257, 'a'), 0}));
}

TEST_CASE("a fence of two words is read, and an invalid one stops all saves") {
  const TwoMounts mounts("/dev/shm");
  const std::string path = mounts.directories[0] + "/FENCE";
  Store store = mounts.store();
  REQUIRE(base::write_file_atomically(path, control_line("fence 41"), 0600));
  CHECK(read_fence(mounts.directories[0])->generation == 41);
  CHECK(store.claim(kFirst).value() == 42);
  CHECK(read_fence(mounts.directories[0])->session == kFirst);
  for (const char* words :
       {"fence", "fence x", "fence 1 run-a", "fence 1 run-a x", "hedge 1", "fence 1 run-a 0 more",
        "fence 1 run-a x 0", "fence 1 run-a 0 0 0", "fence -1"}) {
    CAPTURE(words);
    REQUIRE(base::write_file_atomically(path, control_line(words), 0600));
    CHECK(store.claim(kFirst).error().code == base::Errc::kCorrupt);
    CHECK_FALSE(save_step(store, 1, 50));
  }
}

TEST_CASE("workers of a supervisor that was replaced may not save") {
  const TwoMounts mounts("/dev/shm");
  Store first = mounts.store(), second = mounts.store();
  CHECK(first.claim({"run-a", 4, 1}).value() == 1);
  CHECK(second.claim({"run-a", 2, 2}).value() == 2);
  const Fence fence = read_fence(mounts.directories[0]).value();
  CHECK(fence.session == Session{"run-a", 2, 2});
  CHECK(fence_line(fence) == control_line("fence 2 run-a 2 2"));
  const auto late = first.claim({"run-a", 5, 1});
  REQUIRE_FALSE(late);
  CHECK(late.error().what ==
        "attempt 5 of run-a may not save any more: attempt 2 of a later supervisor of the run was "
        "here");
  // In the format of older versions.
  const std::string path = mounts.directories[0] + "/FENCE";
  REQUIRE(base::write_file_atomically(path, control_line("fence 6 run-a 9"), 0600));
  CHECK(read_fence(mounts.directories[0])->session == Session{"run-a", 9, 0});
  CHECK(second.claim({"run-a", 2, 2}).value() == 7);
}

TEST_CASE("the writer of the last part commits, and later writers find it committed") {
  const TwoMounts mounts("/dev/shm");
  Store zero = mounts.store();
  Store one = mounts.store();
  REQUIRE(zero.claim(kFirst));
  REQUIRE(one.claim(kFirst));
  const std::vector<std::string> writers = {"rank-0", "rank-1"};
  const AttemptId attempt = attempt_of(kFirst, 1, 7);
  const auto early = save_as(zero, attempt, "rank-0", writers);
  REQUIRE(early);
  CHECK_FALSE(early->committed);
  CHECK_FALSE(newest_committed(mounts.directories));
  const auto last = save_as(one, attempt, "rank-1", writers);
  REQUIRE(last);
  CHECK(last->committed);
  CHECK(last->by_this_call);
  const auto later = zero.commit_if_complete(attempt, 1);
  REQUIRE(later);
  CHECK(later->committed);
  CHECK_FALSE(later->by_this_call);
  const auto found = newest_committed(mounts.directories);
  REQUIRE(found);
  CHECK(found->attempt == attempt);
  CHECK(found->manifest.shards.size() == 10);
  CHECK(found->manifest.head.sequence == 1);
  CHECK(CheckpointReader::open(found->manifest, found->folders).verify().empty());

  // Its folder is never reused, and an attempt cannot be joined with another layout.
  CHECK(zero.join(attempt, {1, {}}, writers).error().code == base::Errc::kConflict);
  const AttemptId next = attempt_of(kFirst, 1, 8, 1);
  REQUIRE(zero.join(next, {1, {}}, writers));
  CHECK(one.join(next, {2, {}}, writers).error().code == base::Errc::kConflict);
  CHECK(one.join(next, {1, {}}, {"rank-0"}).error().code == base::Errc::kConflict);
  CHECK(one.join(next, {1, {}}, writers));
  CHECK(attempt_of(kFirst, 1, 8, 2) != next);
  CHECK(attempt_of(kSecond, 1, 8, 1) != next);
}

TEST_CASE("a zombie of an earlier attempt neither joins nor commits; what it completed is kept") {
  const TwoMounts mounts("/dev/shm");
  Store zombie = mounts.store();
  Store store = mounts.store();
  REQUIRE(zombie.claim(kFirst));
  const AttemptId whole = attempt_of(kFirst, 1, 5);
  const AttemptId half = attempt_of(kFirst, 1, 6, 1);
  const SampleState state(5);
  REQUIRE(zombie.join(whole, {1, {}}, {"rank-0"}));
  REQUIRE(zombie.write_part(whole, "rank-0", state.contents));
  REQUIRE(zombie.join(half, {1, {}}, {"rank-0"}));

  CHECK(store.claim(kSecond).value() == 2);  // its first claim commits what was complete
  const auto found = newest_committed(mounts.directories);
  REQUIRE(found);
  CHECK(found->attempt == whole);
  CHECK(wrong_in(*found) == "");
  CHECK(zombie.commit_if_complete(whole, 1).error().code == base::Errc::kConflict);
  REQUIRE(zombie.write_part(half, "rank-0", SampleState(6).contents));
  CHECK(zombie.commit_if_complete(half, 1).error().code == base::Errc::kConflict);
  CHECK(zombie.join(attempt_of(kFirst, 1, 7, 2), {1, {}}, {"rank-0"}).error().code ==
        base::Errc::kConflict);
  // Nothing changes for processes of the second attempt that look later.
  CHECK(store.claim(kSecond).value() == 2);
  CHECK(newest_committed(mounts.directories)->attempt == whole);
}

TEST_CASE("processes that save the same steps at once all succeed, and each step exists once") {
  constexpr int kWorld = 3;
  constexpr int kSteps = 6;
  const TwoMounts mounts("/dev/shm");
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kWorld; ++rank) {
    ranks.push_back(start_rank(kFirst, rank, kWorld, kSteps, mounts.directories));
  }
  for (const pid_t rank : ranks) CHECK(exit_code_of(rank) == 0);
  const auto all = list_attempts(mounts.directories);
  REQUIRE(all);
  REQUIRE(all->size() == kSteps);
  std::uint64_t sequence = kSteps;
  for (const FoundAttempt& found : *all) {
    CHECK(found.state == AttemptState::kCommitted);
    CHECK(found.attempt.generation == 1);
    CHECK(found.manifest.head.sequence == sequence--);
    CHECK(found.manifest.shards.size() == 5 * kWorld);
    CHECK(CheckpointReader::open(found.manifest, found.folders).verify().empty());
  }
}

TEST_CASE("if two attempts of a run save at once, the later one's steps win and nothing is torn") {
  const TwoMounts mounts("/dev/shm");
  const pid_t before = start_rank(kFirst, 0, 1, 40, mounts.directories);
  const pid_t behind = start_rank(kSecond, 0, 1, 4, mounts.directories);
  CHECK(exit_code_of(behind) == 0);
  const int code = exit_code_of(before);
  CHECK((code == 9 || code == 0));  // fenced off, unless it was done before
  const auto found = newest_committed(mounts.directories);
  REQUIRE(found);
  CHECK(found->attempt == attempt_of(kSecond, found->attempt.generation, 4, 3));
  CHECK(wrong_in(*found) == "");
}

TEST_CASE("killed anywhere in a claim, the next one completes it") {
  for (std::uint64_t at = 0;; ++at) {
    const TwoMounts mounts("/dev/shm");
    FaultyDisk disk;
    Store store = mounts.store(&disk);
    disk.go_on();
    REQUIRE(store.claim(kFirst));
    const AttemptId attempt = attempt_of(kFirst, 1, 5);
    REQUIRE(store.join(attempt, {1, {}}, {"rank-0"}));
    REQUIRE(store.write_part(attempt, "rank-0", SampleState(5).contents));
    CAPTURE(at);
    disk.stop_at(at, at % 2 == 0);
    const auto claimed = store.claim(kSecond);
    const bool finished = disk.changes() <= at;
    disk.go_on();
    const auto generation = mounts.store().claim(kSecond);
    REQUIRE(generation);
    CHECK(*generation == 2);
    const auto found = newest_committed(mounts.directories);
    REQUIRE(found);
    CHECK(found->attempt == attempt);
    CHECK(wrong_in(*found) == "");
    if (finished) {
      CHECK(claimed);
      break;
    }
  }
}

TEST_CASE("a poisoned checkpoint is no longer the newest, whatever happens to the mark") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  for (std::uint64_t step = 1; step <= 3; ++step) REQUIRE(save_step(store, step));
  const auto third = newest_committed(mounts.directories);
  REQUIRE(third);
  CHECK_FALSE(mark_poisoned(posix_disk(), *third, "two words"));
  CHECK_FALSE(mark_poisoned(posix_disk(), *third, std::string(65, 'a')));
  REQUIRE(mark_poisoned(posix_disk(), *third, "nan"));
  const auto second = newest_committed(mounts.directories);
  REQUIRE(second);
  CHECK(second->attempt.step == 2);
  CHECK(list_attempts(mounts.directories)->front().poisoned == "nan");
  // It does not count as kept: the newest good checkpoint stays; an older good one and this one go.
  REQUIRE(prune(posix_disk(), mounts.directories, 1, 0));
  CHECK(newest_committed(mounts.directories)->attempt.step == 2);

  REQUIRE(mark_poisoned(posix_disk(), *second, "crash"));
  CHECK_FALSE(newest_committed(mounts.directories));
  for (const std::string& folder : second->folders) {
    REQUIRE(base::write_file_atomically(folder + "/POISONED", "poisoned cr", 0600));
  }
  CHECK_FALSE(newest_committed(mounts.directories));
  REQUIRE(set_pinned(posix_disk(), *second, true));
  REQUIRE(save_step(store, 4));
  REQUIRE(prune(posix_disk(), mounts.directories, 1, 0));
  auto left = list_attempts(mounts.directories);
  REQUIRE(left->size() == 2);
  CHECK(left->back().pinned);
  REQUIRE(set_pinned(posix_disk(), *second, false));
  REQUIRE(prune(posix_disk(), mounts.directories, 1, 0));
  CHECK(list_attempts(mounts.directories)->size() == 1);
}

}  // namespace session_test
