// Bulk reads of shard ranges: planned, read by each I/O method, and from a mount that hangs.

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <thread>

#include "checkpoint/disk/ring.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/store/read_plan.h"
#include "tests/checkpoint/fuse_view.h"
#include "tests/checkpoint/support.h"

namespace bulk_read_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::FuseView;
using robustrun::test::SampleState;
using robustrun::test::ScratchFolder;
using robustrun::test::TwoMounts;

namespace {

struct Saved {
  FoundAttempt found;
  std::vector<std::string> notes;
};

Saved save_large(const std::vector<std::string>& directories, const SampleState& state, IoWay io) {
  StoreOptions options;
  options.io = io;
  for (const std::string& path : directories) options.mounts.push_back({path, 1});
  auto store = Store::open(std::move(options));
  REQUIRE(store);
  const auto attempt = store->begin(1, 1, {1, {}}, {"n0"});
  REQUIRE(attempt);
  auto notes = store->write_part(*attempt, "n0", state.contents);
  REQUIRE(notes);
  REQUIRE(store->commit(*attempt, 1));
  auto found = newest_committed(directories);
  REQUIRE(found);
  return {std::move(*found), std::move(*notes)};
}

// Empty if random ranges of random shards, read together, match what was saved.
std::string wrong_ranges(CheckpointReader& reader, const SampleState& state, base::Rng& rng) {
  std::vector<ReadRequest> requests;
  std::vector<std::string> wanted;
  std::vector<std::string> got;
  for (int i = 0; i < 40; ++i) {
    const std::size_t shard = rng.below(state.buffers.size());
    const std::string& all = state.buffers[shard];
    const std::uint64_t begin = rng.below(all.size() + 1);
    const std::uint64_t most = all.size() - begin;
    const std::uint64_t bytes = rng.below((rng.below(2) == 0 ? most : most / 100) + 1);
    wanted.push_back(all.substr(begin, bytes));
    got.emplace_back(bytes, '\0');
    requests.push_back({shard, begin, {}});
  }
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i].destination = got[i];
  if (const auto read = reader.read(requests); !read) return read.error().what;
  return got == wanted ? "" : "other bytes";
}

// Makes io_uring_setup fail with EPERM in the calling thread and its descendants, as in Docker.
void deny_rings() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{4, program};
  REQUIRE(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  REQUIRE(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

constexpr std::chrono::milliseconds kFusePatience{1500};  // a busy machine may stall for a second

}  // namespace

TEST_CASE("a plan reads every wanted block once, and copies every wanted byte from its place") {
  Manifest manifest;
  manifest.head.mounts = {"/m"};
  manifest.files = {{"f", 0, 4096 + (40U << 20U) + 512, 4096, 0, {}}};
  manifest.files[0].block_crcs.resize(41);
  std::uint64_t offset = 4096;
  for (const std::uint64_t bytes :
       {std::uint64_t{100}, 9 * kBlockBytes, std::uint64_t{32768}, 20 * kBlockBytes + 77}) {
    Shard shard;
    shard.name = "s" + std::to_string(manifest.shards.size());
    shard.bytes = bytes;
    for (std::uint64_t at = 0; at < bytes; at += kExtentBytes) {
      const std::uint64_t piece = std::min(kExtentBytes, bytes - at);
      shard.pieces.push_back({0, offset, piece, 0});
      offset += piece;
    }
    manifest.shards.push_back(std::move(shard));
  }
  const std::uint64_t seed = base::system_seed();
  CAPTURE(seed);
  base::Rng rng(seed);
  std::vector<char> memory(64U << 20U);
  for (int round = 0; round < 200; ++round) {
    std::vector<ReadRequest> requests;
    std::size_t used = 0;
    std::uint64_t wanted = 0;
    for (std::size_t i = 0; i < manifest.shards.size(); ++i) {
      const std::uint64_t begin = rng.below(manifest.shards[i].bytes);
      const std::uint64_t bytes = rng.below(manifest.shards[i].bytes - begin + 1);
      requests.push_back({i, begin, {memory.data() + used, bytes}});
      used += bytes;
      wanted += bytes;
    }
    std::vector<int> reads(manifest.files[0].block_crcs.size());
    std::uint64_t copied = 0;
    for (const ReadRun& run : plan_reads(manifest, requests)) {
      CHECK(run.bytes <= kExtentBytes);
      CHECK(run.offset == 4096 + run.first_block * kBlockBytes);
      for (std::uint64_t at = 0; at < run.bytes; at += kBlockBytes) {
        ++reads[run.first_block + at / kBlockBytes];
      }
      for (const ReadCopy& copy : run.copies) {
        CHECK(copy.offset >= run.offset);
        CHECK(copy.offset + copy.destination.size() <= run.offset + run.bytes);
        copied += copy.destination.size();
        const ReadRequest& request = requests[copy.shard];
        std::uint64_t at = manifest.shards[copy.shard].pieces[copy.piece].offset;
        at -= copy.piece * kExtentBytes;  // offset of the shard's first byte
        CHECK(copy.offset - at - request.begin ==
              static_cast<std::uint64_t>(copy.destination.data() - request.destination.data()));
      }
    }
    CHECK(copied == wanted);
    CHECK(*std::ranges::max_element(reads) <= 1);
  }
}

TEST_CASE("any ranges of shards are read as they were saved, by each I/O method") {
  const std::uint64_t seed = base::system_seed();
  CAPTURE(seed);
  base::Rng rng(seed);
  const SampleState state(1, 6'000);  // 24 MB
  for (const IoWay io : {IoWay::kAuto, IoWay::kRing, IoWay::kDirect, IoWay::kBuffered}) {
    const TwoMounts mounts;
    CAPTURE(static_cast<int>(io));
    const Saved saved = save_large(mounts.directories, state, io);
    CHECK(saved.notes.empty());
    auto reader = CheckpointReader::open(saved.found.manifest, saved.found.folders, {.io = io});
    CHECK(reader.verify().empty());
    for (int round = 0; round < 5; ++round) CHECK(wrong_ranges(reader, state, rng) == "");
  }
}

TEST_CASE("where io_uring is denied, the next I/O method is used") {
  const TwoMounts mounts;
  const SampleState state(1, 3'000);
  std::jthread([&] {
    deny_rings();
    CHECK(Ring::of_this_thread() == nullptr);
    const Saved saved = save_large(mounts.directories, state, IoWay::kRing);
    CHECK(saved.notes.empty());
    auto reader =
        CheckpointReader::open(saved.found.manifest, saved.found.folders, {.io = IoWay::kRing});
    base::Rng rng(7);
    CHECK(wrong_ranges(reader, state, rng) == "");
  }).join();
}

TEST_CASE("a request beyond its shard is refused before anything is read") {
  const TwoMounts mounts("/dev/shm");
  const SampleState state(1);
  const Saved saved = save_large(mounts.directories, state, IoWay::kAuto);
  auto reader = CheckpointReader::open(saved.found.manifest, saved.found.folders);
  std::string room(state.buffers[0].size(), 'x');
  const std::string before = room;
  for (const ReadRequest& request :
       {ReadRequest{0, 1, room}, ReadRequest{99, 0, {}}, ReadRequest{0, UINT64_MAX, {}}}) {
    const ReadRequest both[] = {{1, 0, std::span(room).first(3)}, request};
    CHECK(reader.read(both).error().code == base::Errc::kInvalidArgument);
  }
  CHECK(room == before);
}

TEST_CASE("a damaged tensor does not affect its neighbours in the same block") {
  const TwoMounts mounts("/dev/shm");
  const SampleState state(1);
  const Saved saved = save_large({mounts.directories[0]}, state, IoWay::kAuto);
  const Manifest& manifest = saved.found.manifest;
  const Piece& hit = manifest.shards[1].pieces.front();
  const base::Fd file(::open((saved.found.folders[0] + "/" + manifest.files[0].name).c_str(),
                             O_WRONLY | O_CLOEXEC));
  REQUIRE(::pwrite(file.get(), "\x7f", 1, static_cast<off_t>(hit.offset + 3)) == 1);
  auto reader = CheckpointReader::open(manifest, saved.found.folders);
  std::string first(state.buffers[0].size(), '\0');
  REQUIRE(reader.read_shard(0, first));
  CHECK(first == state.buffers[0]);
  std::string second(state.buffers[1].size(), '\0');
  const ReadRequest both[] = {{0, 0, first}, {1, 0, second}};
  const auto read = reader.read(both);
  REQUIRE_FALSE(read);
  CHECK(read.error().code == base::Errc::kCorrupt);
  CHECK(read.error().what.find("'layer.bias'") != std::string::npos);
  CHECK(read.error().what.find(manifest.files[0].name + " is damaged in bytes " +
                               std::to_string(hit.offset)) != std::string::npos);
}

TEST_CASE("reads and writes of a FUSE mount that stops answering time out") {
  const ScratchFolder scratch;
  for (const char* name : {"home", "disk", "seen"}) {
    REQUIRE(std::filesystem::create_directory(scratch / name));
  }
  const SampleState state(1, 6'000);
  const FuseView fuse(scratch / "disk", scratch / "seen");
  if (!fuse.there()) {
    MESSAGE("no FUSE here: bindfs is missing, or mounting is not allowed");
    return;
  }
  const std::vector<std::string> directories = {scratch / "home", scratch / "seen"};
  const Saved saved = save_large(directories, state, IoWay::kAuto);
  CHECK(saved.notes.empty());
  CHECK(saved.found.manifest.files.size() == 2);
  StoreOptions options;
  options.patience = kFusePatience;
  for (const std::string& path : directories) options.mounts.push_back({path, 1});
  auto store = Store::open(options);
  REQUIRE(store);
  fuse.stop();

  auto reader = CheckpointReader::open(saved.found.manifest, saved.found.folders,
                                       {.patience = kFusePatience});
  std::string room(state.buffers[0].size(), '\0');
  const auto read = reader.read_shard(0, room);
  REQUIRE_FALSE(read);
  CHECK(read.error().os_errno == ETIMEDOUT);
  CHECK(read.error().what.find("'layer.weight'") != std::string::npos);
  CHECK(read.error().what.find("cannot use " + directories[1] + ": it has not answered") !=
        std::string::npos);

  const auto attempt = store->begin(2, 1, {1, {}}, {"n0"});
  REQUIRE(attempt);
  const auto notes = store->write_part(*attempt, "n0", state.contents);
  REQUIRE(notes);
  CHECK(notes->front().find(directories[1]) != std::string::npos);
  const auto committed = store->commit(*attempt, 1);
  REQUIRE(committed);
  for (const DataFile& file : committed->manifest.files) CHECK(file.mount == 0);
  fuse.go_on();
  const auto found = newest_committed(directories);
  REQUIRE(found);
  CHECK(found->attempt.step == 2);
  CHECK(CheckpointReader::open(found->manifest, found->folders).verify().empty());
}

}  // namespace bulk_read_test
