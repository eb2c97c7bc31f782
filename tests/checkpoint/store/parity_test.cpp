#include <fcntl.h>
#include <unistd.h>

#include <set>

#include "base/io/fd.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"
#include "checkpoint/store/repair.h"
#include "checkpoint/store/retention.h"
#include "tests/checkpoint/faulty_disk.h"
#include "tests/checkpoint/support.h"
#include "tests/support/sanitized.h"

namespace parity_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using robustrun::test::FaultyDisk;
using robustrun::test::SampleState;
using robustrun::test::ScratchFolder;

namespace {

constexpr std::uint64_t kSeed = 20'264;
constexpr int kRandomPlaces = test::kSanitized ? 1 : 5;  // per file
constexpr std::size_t kEveryMount = test::kSanitized ? 3 : 1;
constexpr std::uint64_t kStep = 7;
constexpr std::uint64_t kRows = 15'000;  // 60 MB in all

struct SavedWithParity {
  ScratchFolder scratch{"/dev/shm"};
  std::vector<std::string> directories;
  SampleState state{kStep, kRows};
  std::vector<std::string> notes;

  SavedWithParity(std::size_t mounts, std::uint32_t parity, Disk* disk = nullptr) {
    StoreOptions options;
    options.disk = disk;
    for (std::size_t i = 0; i < mounts; ++i) {
      directories.push_back(scratch / ("m" + std::to_string(i)));
      REQUIRE(std::filesystem::create_directory(directories.back()));
      options.mounts.push_back({directories.back(), 1});
    }
    auto store = Store::open(std::move(options));
    REQUIRE(store);
    REQUIRE(store->use_parity(parity));
    const auto attempt = store->begin(kStep, 1, {1, {}}, {"n0"});
    REQUIRE(attempt);
    const auto written = store->write_part(*attempt, "n0", state.contents);
    REQUIRE(written);
    notes = *written;
    REQUIRE(store->commit(*attempt, 1));
  }
  [[nodiscard]] FoundAttempt found() const {
    auto newest = newest_committed(directories);
    REQUIRE(newest);
    return *newest;
  }
  // What cannot be read back; empty: everything can.
  [[nodiscard]] std::string wrong(std::size_t* rescued = nullptr) const {
    const FoundAttempt newest = found();
    auto reader = CheckpointReader::open(newest.manifest, newest.folders);
    for (std::size_t i = 0; i < state.buffers.size(); ++i) {
      std::string bytes(newest.manifest.shards[i].bytes, '\0');
      if (auto read = reader.read_shard(i, bytes); !read) return read.error().what;
      if (bytes != state.buffers[i]) return "other bytes in " + newest.manifest.shards[i].name;
    }
    if (rescued != nullptr) *rescued = reader.rescued().size();
    return {};
  }
  [[nodiscard]] std::vector<std::string> faults() const {
    const FoundAttempt newest = found();
    return CheckpointReader::open(newest.manifest, newest.folders).verify();
  }
  void lose(std::size_t mount) const {
    std::filesystem::remove_all(directories[mount]);
    std::filesystem::create_directory(directories[mount]);
  }
};

void flip_bit_at(const std::string& path, std::uint64_t byte) {
  const base::Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(file);
  char value = 0;
  REQUIRE(::pread(file.get(), &value, 1, static_cast<off_t>(byte)) == 1);
  value = static_cast<char>(value ^ 0x10);
  REQUIRE(::pwrite(file.get(), &value, 1, static_cast<off_t>(byte)) == 1);
}

std::string bytes_of(std::uint64_t number, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

// The document with an empty section of a newer version, which readers may skip
// (docs/checkpoint-format.md).
std::string with_newer_section(const std::string& document) {
  constexpr std::size_t kStart = 16, kRow = 24, kEnd = 16;
  const auto count = static_cast<unsigned char>(document[document.size() - kEnd]);
  const std::size_t sections = document.size() - kEnd - kRow * count;
  std::string index = document.substr(sections, kRow * count);
  index += bytes_of(0x800000FF, 4) + bytes_of(sections, 8) + bytes_of(0, 8) + bytes_of(0, 4);
  index += bytes_of(count + 1U, 4);
  return document.substr(0, sections) + index +
         bytes_of(crc32c(document.substr(0, kStart) + index), 4) + "RRCK-END";
}

}  // namespace

TEST_CASE("with parity 1 any mount, even the home, may be lost and is repaired onto a new one") {
  for (std::size_t lost = 0; lost < 4; lost += kEveryMount) {
    const SavedWithParity saved(4, 1);
    CHECK(saved.notes.empty());
    CHECK(saved.faults().empty());
    saved.lose(lost);
    CAPTURE(lost);
    CHECK_FALSE(saved.faults().empty());
    std::size_t rescued = 0;
    CHECK(saved.wrong(&rescued) == "");
    CHECK(rescued > 0);
    const auto repaired = repair(posix_disk(), saved.found(), saved.directories);
    REQUIRE(repaired);
    CHECK(repaired->lost.empty());
    CHECK(repaired->done.size() == 3);  // data, parity, MANIFEST
    CHECK(saved.faults().empty());
    CHECK(saved.wrong(&rescued) == "");
    CHECK(rescued == 0);
    CHECK(repair(posix_disk(), saved.found(), saved.directories)->done.empty());
    // Now another mount may be lost.
    saved.lose((lost + 1) % 4);
    CHECK(saved.wrong() == "");
  }
}

TEST_CASE("a lost file returns to its own mount, however the directories are written") {
  const SavedWithParity saved(3, 1);
  std::vector<std::string> directories;
  SUBCASE("with a slash") {
    for (const std::string& each : saved.directories) directories.push_back(each + "/");
  }
  SUBCASE("relative") {
    for (const std::string& each : saved.directories) {
      directories.push_back(std::filesystem::relative(each).string());
    }
  }
  SUBCASE("as links") {
    for (const std::string& each : saved.directories) {
      directories.push_back(each + "-link");
      std::filesystem::create_directory_symlink(each, directories.back());
    }
  }
  saved.lose(2);
  const auto found = newest_committed(directories);
  REQUIRE(found);
  const auto repaired = repair(posix_disk(), *found, directories);
  REQUIRE(repaired);
  CHECK(repaired->lost.empty());
  const std::string folder = saved.directories[2] + "/" + attempt_folder(found->attempt) + "/";
  for (const DataFile& file : found->manifest.files) {
    if (found->manifest.head.mounts[file.mount] != saved.directories[2]) continue;
    CHECK(std::filesystem::exists(folder + file.name));
  }
}

TEST_CASE("with parity 2 any two mounts may be lost; losing three is reported, never guessed") {
  for (std::size_t first = 0; first < 5; first += kEveryMount) {
    for (std::size_t second = first + 1; second < 5; second += kEveryMount) {
      const SavedWithParity saved(5, 2);
      saved.lose(first);
      saved.lose(second);
      CAPTURE(first);
      CAPTURE(second);
      CHECK(saved.wrong() == "");
      if (first == 0 && second == 1) {
        REQUIRE(repair(posix_disk(), saved.found(), saved.directories)->lost.empty());
        CHECK(saved.faults().empty());
      } else if (second == 4) {
        saved.lose(first == 3 ? 0 : first + 1);
        CHECK(saved.wrong().find("members of the parity group are lost") != std::string::npos);
        const auto repaired = repair(posix_disk(), saved.found(), saved.directories);
        REQUIRE(repaired);
        CHECK_FALSE(repaired->lost.empty());
      }
    }
  }
}

TEST_CASE("a bit flipped in any region of any file is repaired") {
  base::Rng rng(kSeed);
  MESSAGE("seed ", kSeed);
  const SavedWithParity saved(3, 1);
  const FoundAttempt found = saved.found();
  std::set<std::string> kinds;
  for (const DataFile& file : found.manifest.files) {
    kinds.insert(std::filesystem::path(file.name).extension());
    const std::string path = found.folders[file.mount] + "/" + file.name;
    std::vector<std::uint64_t> places = {0, file.header_bytes, file.bytes - 1};
    for (int i = 0; i < kRandomPlaces; ++i) places.push_back(rng.below(file.bytes));
    for (const std::uint64_t place : places) {
      flip_bit_at(path, place);
      CAPTURE(place);
      CHECK(saved.faults().size() == 1);
      CHECK(saved.wrong() == "");
      const auto repaired = repair(posix_disk(), found, saved.directories);
      REQUIRE(repaired);
      REQUIRE(repaired->done.size() == 1);
      CHECK(repaired->done.front().starts_with(path));
      CHECK(saved.faults().empty());
    }
  }
  CHECK(kinds == std::set<std::string>{".safetensors", ".rrparity"});
}

TEST_CASE("damage at the same place of two members exceeds parity 1, and is not guessed") {
  const SavedWithParity saved(3, 1);
  const FoundAttempt found = saved.found();
  const ParityGroup* group = nullptr;
  for (const ParityGroup& each : found.manifest.groups) {
    if (each.data.size() == 2 && each.data[0].bytes == kExtentBytes) group = &each;
  }
  REQUIRE(group != nullptr);
  for (const ParityMember& member : group->data) {
    const DataFile& file = found.manifest.files[member.file];
    flip_bit_at(found.folders[file.mount] + "/" + file.name, member.offset + 5);
  }
  CHECK(saved.faults().size() == 2);
  const std::string wrong = saved.wrong();
  CHECK(wrong.find("is damaged in bytes") != std::string::npos);
  CHECK(wrong.find("2 of 2 members of the parity group are lost") != std::string::npos);
}

TEST_CASE("parity needs one directory more than it has parity members") {
  const ScratchFolder one("/dev/shm");
  StoreOptions options;
  options.mounts = {{one.path(), 1}};
  auto store = Store::open(std::move(options));
  REQUIRE(store);
  CHECK(store->use_parity(1).error().what ==
        "cannot save with parity 1 in 1 directory: 2 or more are needed");
  CHECK(store->use_parity(0));
}

TEST_CASE("if parity has no place, the data is saved without it, with a note") {
  FaultyDisk disk;
  disk.full_suffix = ".rrparity";
  const SavedWithParity saved(3, 1, &disk);
  REQUIRE(saved.notes.size() == 4);
  CHECK(saved.notes[0].find("No space left on device") != std::string::npos);
  CHECK(saved.notes[3].find("no parity: ") == 0);
  CHECK(saved.found().manifest.groups.empty());
  CHECK(saved.faults().empty());
  CHECK(saved.wrong() == "");
}

TEST_CASE("a lost copy of a newer version's manifest is repaired to the same bytes") {
  const SavedWithParity saved(2, 0);
  const auto path = [&](std::size_t mount) {
    return saved.directories[mount] + "/" + attempt_folder(saved.found().attempt) + "/MANIFEST";
  };
  const std::vector<std::string> paths = {path(0), path(1)};
  const auto whole = base::read_file(paths[0], kManifestBytesMax);
  REQUIRE(whole);
  const std::string newer = with_newer_section(*whole);
  REQUIRE(base::write_file_atomically(paths[0], newer, 0600));
  REQUIRE(std::filesystem::remove(paths[1]));
  const auto repaired = repair(posix_disk(), saved.found(), saved.directories);
  REQUIRE(repaired);
  CHECK(repaired->lost.empty());
  CHECK(repaired->done.size() == 1);
  CHECK(base::read_file(paths[1], kManifestBytesMax).value_or("") == newer);
}

}  // namespace parity_test
