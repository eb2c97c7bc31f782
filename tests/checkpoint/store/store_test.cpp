#include "checkpoint/store/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "base/io/fd.h"
#include "checkpoint/format/extent_header.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/retention.h"
#include "tests/checkpoint/faulty_disk.h"
#include "tests/checkpoint/support.h"

namespace store_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::FaultyDisk;
using robustrun::test::SampleState;
using robustrun::test::save_step;
using robustrun::test::TwoMounts;
using robustrun::test::wrong_in;

namespace {

void flip_bit(const std::string& path, std::uint64_t byte) {
  const base::Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(file);
  char value = 0;
  REQUIRE(::pread(file.get(), &value, 1, static_cast<off_t>(byte)) == 1);
  value = static_cast<char>(value ^ 0x10);
  REQUIRE(::pwrite(file.get(), &value, 1, static_cast<off_t>(byte)) == 1);
}

FoundAttempt newest(const TwoMounts& mounts) {
  auto found = newest_committed(mounts.directories);
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("a save over two mounts is read back, from directories in any order") {
  const TwoMounts mounts;
  Store store = mounts.store();
  REQUIRE(save_step(store, 5));
  const SampleState large(6, 20'000);  // 80 MB, many extents
  const auto attempt = store.begin(6, 1, {1, {}}, {"n0"});
  REQUIRE(attempt);
  REQUIRE(store.write_part(*attempt, "n0", large.contents));
  const auto committed = store.commit(*attempt, 1);
  REQUIRE(committed);
  CHECK(committed->notes.empty());
  CHECK(committed->manifest.files.size() == 2);
  const std::vector<std::string> turned = {mounts.directories[1], mounts.directories[0]};
  const auto found = newest_committed(turned);
  REQUIRE(found);
  CHECK(found->attempt == *attempt);
  auto reader = CheckpointReader::open(found->manifest, found->folders);
  CHECK(reader.verify().empty());
  for (std::size_t i = 0; i < large.buffers.size(); ++i) {
    std::string bytes(large.buffers[i].size(), '\0');
    REQUIRE(reader.read_shard(i, bytes));
    CHECK(bytes == large.buffers[i]);
  }
}

TEST_CASE("mounts get data by weight, and every file is a safetensors file of mode 0600") {
  const TwoMounts mounts;
  auto store = Store::open({{{mounts.directories[0], 3}, {mounts.directories[1], 1}}, 2});
  REQUIRE(store);
  const SampleState state(1, 20'000);
  const auto attempt = store->begin(1, 1, {1, {}}, {"n0"});
  REQUIRE(attempt);
  REQUIRE(store->write_part(*attempt, "n0", state.contents));
  const auto committed = store->commit(*attempt, 1);
  REQUIRE(committed);
  std::map<std::uint32_t, double> bytes;
  for (const DataFile& file : committed->manifest.files) {
    bytes[file.mount] += static_cast<double>(file.bytes);
    const std::string path =
        mounts.directories[file.mount] + "/" + attempt_folder(*attempt) + "/" + file.name;
    struct stat status{};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0600);
    const auto all = base::read_file(path, 1 << 28);
    REQUIRE(all);
    CHECK(decode_header(*all, all->size()));
    CHECK(file.header_bytes % 4096 == 0);
    CHECK(file.bytes % 4096 == 0);
  }
  CHECK(bytes[0] / bytes[1] > 2.4);
  CHECK(bytes[0] / bytes[1] < 4.2);
}

TEST_CASE("a full mount's part goes to the other one; if all are full, nothing is committed") {
  const TwoMounts mounts("/dev/shm");
  FaultyDisk disk;
  Store store = mounts.store(&disk);
  REQUIRE(save_step(store, 1));
  disk.full_folder = mounts.directories[1];
  const SampleState state(2);
  const auto attempt = store.begin(2, 1, {1, {}}, {"n0"});
  REQUIRE(attempt);
  const auto notes = store.write_part(*attempt, "n0", state.contents);
  REQUIRE(notes);
  REQUIRE(notes->size() == 1);
  CHECK(notes->front().find("No space left on device") != std::string::npos);
  REQUIRE(store.commit(*attempt, 1));
  CHECK(wrong_in(newest(mounts)) == "");
  CHECK(newest(mounts).attempt.step == 2);
  for (const DataFile& file : newest(mounts).manifest.files) CHECK(file.mount == 0);

  disk.full_folder = folder_of(mounts.directories[0]);
  const auto third = save_step(store, 3);
  REQUIRE_FALSE(third);
  CHECK(third.error().what.find("No space left on device") != std::string::npos);
  CHECK(newest(mounts).attempt.step == 2);
}

TEST_CASE("a writer of an older generation cannot commit, whatever it has completed") {
  const TwoMounts mounts("/dev/shm");
  Store zombie = mounts.store();
  Store store = mounts.store();
  REQUIRE(store.admit(1));
  const SampleState state(9);
  const auto attempt = zombie.begin(9, 1, {1, {}}, {"n0"});
  REQUIRE(attempt);
  REQUIRE(zombie.write_part(*attempt, "n0", state.contents));
  REQUIRE(store.admit(2));
  CHECK(zombie.commit(*attempt, 1).error().code == base::Errc::kConflict);
  CHECK(zombie.begin(10, 1, {1, {}}, {"n0"}).error().code == base::Errc::kConflict);
  CHECK(zombie.admit(1).error().code == base::Errc::kConflict);
  CHECK_FALSE(newest_committed(mounts.directories));
  REQUIRE(save_step(store, 4, 2));

  // Its successor may salvage what it left, which does not become newer than later saves.
  const auto salvaged = store.salvage(2);
  REQUIRE(salvaged);
  REQUIRE(salvaged->size() == 1);
  CHECK(newest(mounts).attempt.step == 4);
  CHECK(zombie.commit(*attempt, 2).error().code == base::Errc::kConflict);
}

TEST_CASE("an attempt lacking a part, or with damaged data, is not salvaged") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  const SampleState state(1);
  const auto half = store.begin(1, 1, {2, {}}, {"n0", "n1"});
  REQUIRE(half);
  REQUIRE(store.write_part(*half, "n0", state.contents));
  CHECK_FALSE(store.commit(*half, 1));
  CHECK(store.salvage(1)->empty());
  REQUIRE(store.write_part(*half, "n1", state.contents));
  flip_bit(mounts.directories[0] + "/" + attempt_folder(*half) + "/d-n1-m0.safetensors", 4100);
  CHECK(store.salvage(1)->empty());
}

TEST_CASE("a bit flipped anywhere in a data file is detected, named and never returned") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  REQUIRE(save_step(store, 1));
  const FoundAttempt found = newest(mounts);
  for (const DataFile& file : found.manifest.files) {
    const std::string path = found.folders[file.mount] + "/" + file.name;
    for (std::uint64_t byte = 0; byte < file.bytes; byte += byte < 4096 ? 61 : 331) {
      flip_bit(path, byte);
      CAPTURE(byte);
      const auto faults = CheckpointReader::open(found.manifest, found.folders).verify();
      REQUIRE(faults.size() == 1);
      CHECK(faults.front().find(path) == 0);
      CHECK(faults.front().find(byte < file.header_bytes ? "header" : "damaged in bytes") !=
            std::string::npos);
      CHECK_FALSE(verify_and_mark(posix_disk(), found));
      flip_bit(path, byte);
    }
    for (std::size_t i = 0; i < found.manifest.shards.size(); ++i) {
      for (const Piece& piece : found.manifest.shards[i].pieces) {
        if (found.manifest.files[piece.file].name != file.name) continue;
        flip_bit(path, piece.offset + piece.bytes / 2);
        std::string bytes(found.manifest.shards[i].bytes, '\0');
        auto reader = CheckpointReader::open(found.manifest, found.folders);
        const auto read = reader.read_shard(i, bytes);
        REQUIRE_FALSE(read);
        CHECK(read.error().code == base::Errc::kCorrupt);
        flip_bit(path, piece.offset + piece.bytes / 2);
      }
    }
  }
  CHECK(wrong_in(found) == "");
}

TEST_CASE("a bit flipped in a control file is reported, and an older step or a copy is used") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  REQUIRE(store.admit(1));
  REQUIRE(save_step(store, 1));
  REQUIRE(save_step(store, 2));
  const FoundAttempt before = newest(mounts);

  flip_bit(mounts.directories[0] + "/LATEST", 3);
  CHECK_FALSE(read_control_line(mounts.directories[0] + "/LATEST"));
  CHECK(newest(mounts).attempt == before.attempt);

  flip_bit(before.folders[0] + "/MANIFEST", 200);
  CHECK(newest(mounts).attempt == before.attempt);
  REQUIRE(newest(mounts).notes.size() == 1);
  CHECK(newest(mounts).notes.front().find(before.folders[0] + "/MANIFEST") == 0);
  flip_bit(before.folders[1] + "/MANIFEST", 100);
  CHECK(newest(mounts).attempt.step == 1);
  const auto all = list_attempts(mounts.directories);
  REQUIRE(all->size() == 2);
  CHECK(all->back().state == AttemptState::kDamaged);

  flip_bit(mounts.directories[0] + "/FENCE", 2);
  const auto refused = save_step(store, 3);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("FENCE") != std::string::npos);

  REQUIRE(verify_and_mark(posix_disk(), newest(mounts)));
  CHECK(newest(mounts).verified);
  flip_bit(newest(mounts).folders[0] + "/VERIFIED", 12);
  CHECK_FALSE(newest(mounts).verified);
}

TEST_CASE("a list by sums agrees with a full one, and a closer look adds the rest") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  for (std::uint64_t step = 1; step <= 4; ++step) REQUIRE(save_step(store, step));
  REQUIRE(verify_and_mark(posix_disk(), newest(mounts)));
  auto all = list_attempts(mounts.directories);
  REQUIRE(all->size() == 4);
  flip_bit((*all)[1].folders[0] + "/MANIFEST", 200);
  for (const std::string& folder : (*all)[2].folders) flip_bit(folder + "/MANIFEST", 200);
  REQUIRE(store.begin(5, 1, {1, {}}, {"n0"}));
  all = list_attempts(mounts.directories);
  auto sums = list_attempts(mounts.directories, nullptr, Look::kSums);
  REQUIRE(sums->size() == 5);
  MountThreads threads(mounts.directories, 1, kPatience);
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    const FoundAttempt& full = (*all)[i];
    FoundAttempt& found = (*sums)[i];
    for (const bool closer : {false, true}) {
      if (closer) REQUIRE(look_closer(found, threads));
      CHECK(found.attempt == full.attempt);
      CHECK(found.state == full.state);
      CHECK(found.digest == full.digest);
      CHECK(found.verified == full.verified);
      CHECK(found.tensors == full.tensors);
      CHECK(found.data_bytes == full.data_bytes);
      CHECK(found.notes == full.notes);
      CHECK(found.manifest.head == full.manifest.head);
      CHECK((found.manifest == full.manifest) ==
            (closer || full.state != AttemptState::kCommitted));
    }
  }
  CHECK((*sums)[0].verified);
  CHECK((*sums)[0].tensors == SampleState(4).buffers.size());
  CHECK((*sums)[1].notes.size() == 1);
  CHECK((*sums)[3].state != AttemptState::kCommitted);
}

TEST_CASE("a part or an INTENT with a flipped bit stops the commit") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  const SampleState state(1);
  for (const char* name : {"INTENT", "part-n0.rrp"}) {
    const auto attempt = store.begin(1, 1, {1, {}}, {"n0"});
    REQUIRE(attempt);
    REQUIRE(store.write_part(*attempt, "n0", state.contents));
    flip_bit(mounts.directories[0] + "/" + attempt_folder(*attempt) + "/" + name, 40);
    const auto committed = store.commit(*attempt, 1);
    REQUIRE_FALSE(committed);
    CHECK(committed.error().what.find(name) != std::string::npos);
  }
}

TEST_CASE("the home directory may be lost: a copy of the manifest serves what is left") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  REQUIRE(save_step(store, 1));
  std::filesystem::remove_all(mounts.directories[0]);
  const FoundAttempt found = newest(mounts);
  const auto faults = CheckpointReader::open(found.manifest, found.folders).verify();
  REQUIRE(!faults.empty());
  CHECK(faults.front().find("is missing; it was on " + mounts.directories[0]) != std::string::npos);
}

TEST_CASE(
    "retention keeps everything newer than a verified checkpoint, and needs one to remove any") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  for (std::uint64_t step = 1; step <= 4; ++step) REQUIRE(save_step(store, step));
  const FoundAttempt last = newest(mounts);
  const DataFile& file = last.manifest.files.front();
  flip_bit(last.folders[file.mount] + "/" + file.name, 5000);
  auto pruned = prune(posix_disk(), mounts.directories, 1, 0);
  REQUIRE(pruned);
  CHECK(pruned->removed.empty());
  REQUIRE(pruned->notes.size() == 1);
  flip_bit(last.folders[file.mount] + "/" + file.name, 5000);
  const auto all = list_attempts(mounts.directories);
  std::filesystem::copy_file(all->back().folders[0] + "/INTENT",
                             all->back().folders[0] + "/PINNED");
  pruned = prune(posix_disk(), mounts.directories, 1, 0);
  REQUIRE(pruned);
  CHECK(pruned->removed.size() == 2);
  const auto left = list_attempts(mounts.directories);
  REQUIRE(left->size() == 2);
  CHECK(left->front().attempt.step == 4);
  CHECK(left->back().attempt.step == 1);
}

TEST_CASE("a higher step of an older run does not win over a later commit") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  REQUIRE(save_step(store, 900, 1));
  REQUIRE(save_step(store, 300, 1));  // a rollback within the generation
  CHECK(newest(mounts).attempt.step == 300);
  REQUIRE(save_step(store, 100, 2));
  CHECK(newest(mounts).attempt.step == 100);
}

TEST_CASE("buffers that do not match their shards are refused before anything is written") {
  const TwoMounts mounts("/dev/shm");
  Store store = mounts.store();
  const auto attempt = store.begin(1, 1, {1, {}}, {"n0"});
  REQUIRE(attempt);
  const SampleState state(1);
  PartContents contents = state.contents;
  contents.sources[0] = contents.sources[0].substr(1);
  CHECK(store.write_part(*attempt, "n0", contents).error().code == base::Errc::kInvalidArgument);
  contents = state.contents;
  contents.shards[0].name = "bad\nname";
  CHECK(store.write_part(*attempt, "n0", contents).error().code == base::Errc::kInvalidArgument);
}

TEST_CASE("what no reader would accept is not committed, and stops no later claim") {
  const TwoMounts mounts("/dev/shm");
  StoreOptions options;
  options.manifest_bytes_max = 1U << 20U;
  Store store = mounts.store(nullptr, 0, options);
  const SampleState state(1);
  PartContents contents = state.contents;
  contents.states.push_back({0, "loader", std::string(600'000, 'x')});
  const auto attempt = store.begin(1, 1, {2, {}}, {"n0", "n1"});
  REQUIRE(attempt);
  for (const char* writer : {"n0", "n1"}) {
    contents.states.back().rank = writer[1] - '0';
    REQUIRE(store.write_part(*attempt, writer, contents));
  }
  const auto committed = store.commit(*attempt, 1);
  REQUIRE_FALSE(committed);
  CHECK(committed.error().code == base::Errc::kLimit);
  CHECK(committed.error().what.find("has 2 MiB, more than 1;") != std::string::npos);
  CHECK_FALSE(newest_committed(mounts.directories));

  const auto other = store.begin(2, 1, {1, {}}, {"n0"});
  REQUIRE(other);
  contents.states.back() = {0, "loader", std::string(1'200'000, 'x')};
  CHECK(store.write_part(*other, "n0", contents).error().code == base::Errc::kLimit);
  CHECK_FALSE(store.has_part(*other, "n0").value());

  REQUIRE(store.claim({"run-a", 0}));
  REQUIRE(save_step(store, 3, 2));
  CHECK(newest(mounts).attempt.step == 3);
}

TEST_CASE("a store without threads and states that are too large are refused with their cause") {
  const TwoMounts mounts("/dev/shm");
  const auto threadless = Store::open({{{mounts.directories[0], 1}}, 0});
  REQUIRE_FALSE(threadless);
  CHECK(threadless.error().what.find("thread") != std::string::npos);

  PartContents contents;
  contents.states.push_back({0, "loader", std::string(kStateBytesMax + 1, 'x')});
  const auto checked = check_contents(contents);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == base::Errc::kLimit);
  CHECK(checked.error().what.find("67108865 bytes together, more than 67108864") !=
        std::string::npos);
}

}  // namespace store_test
