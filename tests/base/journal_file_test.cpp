#include "base/io/journal_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/io/fd.h"
#include "base/io/limits.h"
#include "tests/base/support.h"
#include "tests/paths.h"
#include "tests/support/file_size_limit.h"

namespace journal_file_test {

using namespace robustrun::base;
using robustrun::test::FileSizeLimit;
using robustrun::test::Scratch;

namespace {

constexpr std::size_t kHeaderBytes = 64;

std::string bytes_of(const std::string& path) { return read_file(path, 1 << 24).value(); }

void replace(const std::string& path, std::string_view bytes) {
  REQUIRE(write_file_atomically(path, bytes, 0600));
}

// Writes a journal of three records; `ends` gets the sizes after the header and after each record.
std::string write_sample(const std::string& path, std::vector<std::size_t>& ends) {
  auto journal = JournalWriter::open(path);
  REQUIRE(journal);
  ends = {bytes_of(path).size()};
  for (const char* payload : {"first", "", "the third record"}) {
    REQUIRE(journal->append(7, payload));
    ends.push_back(bytes_of(path).size());
  }
  return bytes_of(path);
}

// How many whole records a file of this size holds.
std::size_t whole_records(const std::vector<std::size_t>& ends, std::size_t size) {
  std::size_t count = 0;
  while (count + 1 < ends.size() && ends[count + 1] <= size) ++count;
  return count;
}

}  // namespace

TEST_CASE("records come back in order with kind, sequence and payload") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  {
    auto journal = JournalWriter::open(path);
    REQUIRE(journal);
    REQUIRE(journal->append(1, "one"));
    REQUIRE(journal->append(2, std::string("\0\xff", 2)));
    REQUIRE(journal->sync());
  }
  {
    auto again = JournalWriter::open(path);
    REQUIRE(again);
    REQUIRE(again->append(3, std::string(100000, 'x')));
  }
  const auto contents = read_journal(path);
  REQUIRE(contents);
  CHECK(contents->torn_bytes == 0);
  REQUIRE(contents->records.size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(contents->records[i].kind == i + 1);
    CHECK(contents->records[i].sequence == i);
  }
  CHECK(contents->records[1].payload == std::string("\0\xff", 2));
  CHECK(contents->records[2].payload.size() == 100000);
  struct stat found{};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  CHECK((found.st_mode & 0777U) == 0600);
}

TEST_CASE("a journal cut at any byte keeps its complete records and can be continued") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  std::vector<std::size_t> ends;
  const std::string whole = write_sample(path, ends);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    replace(path, whole.substr(0, size));
    const std::size_t kept = whole_records(ends, size);
    const auto contents = read_journal(path);
    REQUIRE(contents);
    CHECK(contents->records.size() == kept);
    CHECK(contents->torn_bytes == size - (size < kHeaderBytes ? 0 : ends[kept]));

    auto journal = JournalWriter::open(path);
    REQUIRE(journal);
    REQUIRE(journal->append(9, "after"));
    const auto continued = read_journal(path);
    REQUIRE(continued);
    CHECK(continued->torn_bytes == 0);
    REQUIRE(continued->records.size() == kept + 1);
    CHECK(continued->records.back().payload == "after");
    CHECK(continued->records.back().sequence == kept);
  }
}

TEST_CASE("a flipped byte costs its record alone, or makes the header invalid") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  std::vector<std::size_t> ends;
  const std::string whole = write_sample(path, ends);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    CAPTURE(at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    replace(path, damaged);
    const auto contents = read_journal(path);
    if (at < kHeaderBytes) {
      REQUIRE_FALSE(contents);
      CHECK(contents.error().code == Errc::kCorrupt);
      CHECK_FALSE(JournalWriter::open(path));
      CHECK(bytes_of(path) == damaged);  // nothing was cut off
    } else {
      REQUIRE(contents);
      const std::size_t lost = whole_records(ends, at);
      const bool is_last = lost == 2;
      REQUIRE(contents->records.size() == 2);
      CHECK(contents->records.back().sequence == (is_last ? 1 : 2));
      CHECK(contents->torn_bytes == 0);
      REQUIRE(contents->damage.size() == 1);
      CHECK(contents->damage[0].offset == ends[lost]);
      CHECK(contents->damage[0].bytes == ends[lost + 1] - ends[lost]);
      CHECK(contents->damage[0].records == 1);
    }
  }
}

TEST_CASE(
    "a writer leaves damage and the records behind it as they are, and continues after them") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  std::vector<std::size_t> ends;
  std::string damaged = write_sample(path, ends);
  damaged[ends[0] + 20] ^= 1;  // in the first record
  replace(path, damaged);
  REQUIRE(JournalWriter::open(path).value().append(9, "after"));
  CHECK(bytes_of(path).starts_with(damaged));
  const auto contents = read_journal(path);
  REQUIRE(contents);
  CHECK(contents->torn_bytes == 0);
  REQUIRE(contents->records.size() == 3);
  CHECK(contents->records.back().sequence == 3);
  REQUIRE(contents->damage.size() == 1);
}

TEST_CASE("a writer leaves damaged records at the end, and continues after them") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  std::vector<std::size_t> ends;
  std::string damaged = write_sample(path, ends);
  damaged[ends[1] + 20] ^= 1;
  damaged[ends[2] + 20] ^= 1;
  replace(path, damaged + std::string(40, '\0'));  // and a record that was cut
  CHECK(read_journal(path).value().torn_bytes == 40);
  REQUIRE(JournalWriter::open(path).value().append(9, "after"));
  CHECK(bytes_of(path).starts_with(damaged));
  const auto contents = read_journal(path);
  REQUIRE(contents);
  CHECK(contents->torn_bytes == 0);
  REQUIRE(contents->records.size() == 2);
  CHECK(contents->records.back().sequence == 3);
  REQUIRE(contents->damage.size() == 1);
  CHECK(contents->damage[0].records == 2);
  CHECK(contents->damage[0].bytes == damaged.size() - ends[1]);
}

TEST_CASE("damage that cannot be searched to its end is never cut off as a torn tail") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  std::vector<std::size_t> ends;
  std::string damaged = write_sample(path, ends);
  // Each of these heads may begin the first record, of 4 MiB.
  constexpr std::uint32_t kLength = 4 << 20;
  std::string heads(kJournalSearchBytesMax / kLength * 16 + kLength, '\xff');
  for (std::size_t at = 0; at < heads.size() - kLength; at += 16) {
    heads.replace(at, 16, 16, '\0');
    std::memcpy(heads.data() + at, &kLength, sizeof kLength);
  }
  damaged.insert(ends[0], heads);
  replace(path, damaged);
  const auto contents = read_journal(path);
  REQUIRE(contents);
  CHECK(contents->torn_bytes == 0);
  REQUIRE(contents->damage.size() == 1);
  CHECK(contents->damage[0].offset == ends[0]);
  CHECK(contents->damage[0].bytes == damaged.size() - ends[0]);
  CHECK(contents->damage[0].records == 0);
  const auto writer = JournalWriter::open(path);
  REQUIRE_FALSE(writer);
  CHECK(writer.error().code == Errc::kCorrupt);
  CHECK(writer.error().what.find("from byte 64 on") != std::string::npos);
  CHECK(bytes_of(path) == damaged);
}

TEST_CASE("a last record whose end is zeros was not written whole: it is no damage") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  std::vector<std::size_t> ends;
  std::string cut = write_sample(path, ends);
  std::fill(cut.begin() + static_cast<std::ptrdiff_t>(ends[2]) + 18, cut.end(), '\0');
  replace(path, cut);
  const auto contents = read_journal(path);
  REQUIRE(contents);
  CHECK(contents->damage.empty());
  CHECK(contents->torn_bytes == cut.size() - ends[2]);
}

TEST_CASE("records that were cut out exactly are missed by their numbers") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  std::vector<std::size_t> ends;
  std::string cut = write_sample(path, ends);
  cut.erase(ends[0], ends[2] - ends[0]);
  replace(path, cut);
  const auto contents = read_journal(path);
  REQUIRE(contents);
  REQUIRE(contents->records.size() == 1);
  REQUIRE(contents->damage.size() == 1);
  CHECK(contents->damage[0].bytes == 0);
  CHECK(contents->damage[0].records == 2);
}

TEST_CASE("random bytes after good records are never read as a record") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  std::vector<std::size_t> ends;
  const std::string whole = write_sample(path, ends);
  const std::uint64_t seed = system_seed();
  CAPTURE(seed);
  Rng rng(seed);
  for (int round = 0; round < 300; ++round) {
    std::string tail;
    for (std::uint64_t n = rng.below(80); n > 0; --n) tail += static_cast<char>(rng.below(256));
    replace(path, whole + tail);
    const auto contents = read_journal(path);
    REQUIRE(contents);
    CHECK(contents->records.size() == 3);
    CHECK(contents->torn_bytes == tail.size());
  }
}

TEST_CASE("records of another journal, and repeated ones, are rejected") {
  const Scratch scratch;
  std::vector<std::size_t> ends;
  const std::string one = write_sample(scratch / "one", ends);
  const std::string other = write_sample(scratch / "other", ends);
  replace(scratch / "mixed", one + other.substr(kHeaderBytes));
  CHECK(read_journal(scratch / "mixed").value().records.size() == 3);
  replace(scratch / "repeated", one + one.substr(kHeaderBytes));
  CHECK(read_journal(scratch / "repeated").value().records.size() == 3);
}

TEST_CASE("a file that is not a journal, or of another version, is refused and left unchanged") {
  const Scratch scratch;
  const std::string path = scratch / "file";
  for (const std::string& bytes : {std::string("x"), std::string("RRJOURNX"),
                                   std::string(1000, 'a'), "RRJOURNL" + std::string(56, '\0')}) {
    replace(path, bytes);
    CHECK(read_journal(path).error().code == Errc::kCorrupt);
    CHECK(JournalWriter::open(path).error().code == Errc::kCorrupt);
    CHECK(bytes_of(path) == bytes);
  }
  CHECK(read_journal(scratch / "none").error().os_errno == ENOENT);
  CHECK(JournalWriter::open(scratch / "no/folder").error().os_errno == ENOENT);
}

TEST_CASE("a journal of a newer format is refused in words that name both formats") {
  const Scratch scratch;
  const std::string path = scratch / "file";
  static_cast<void>(JournalWriter::open(path).value());
  std::string header = bytes_of(path).substr(0, 56);
  header[8] = 9;
  const std::uint64_t hash = hash64(header);
  header.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  replace(path, header);
  const std::string words = read_journal(path).error().what;
  CHECK(words.find("it has journal format 9, this robustrun reads 1") != std::string::npos);
  CHECK(words.find("use the version that wrote it") != std::string::npos);
  CHECK(JournalWriter::open(path).error().what == words);
  CHECK(bytes_of(path) == header);
}

TEST_CASE("a failed append leaves whole records, and the next one tries again") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  auto journal = JournalWriter::open(path);
  REQUIRE(journal);
  REQUIRE(journal->append(1, "before"));
  const std::size_t size = bytes_of(path).size();
  Status failed;
  std::size_t size_after = 0;
  {
    const FileSizeLimit limit(size + 100);  // the record is written in part
    failed = journal->append(2, std::string(5000, 'x'));
    size_after = bytes_of(path).size();
  }
  REQUIRE_FALSE(failed);
  CHECK(failed.error().os_errno == EFBIG);
  CHECK(size_after == size);
  REQUIRE(journal->append(3, "after"));
  const auto contents = read_journal(path);
  REQUIRE(contents);
  CHECK(contents->torn_bytes == 0);
  REQUIRE(contents->records.size() == 2);
  CHECK(contents->records[1].kind == 3);
  CHECK(contents->records[1].sequence == 1);
}

TEST_CASE("a record above the limit is refused, and one at the limit is kept") {
  const Scratch scratch;
  const std::string path = scratch / "journal";
  auto journal = JournalWriter::open(path);
  REQUIRE(journal);
  const std::string largest(kJournalRecordBytesMax, 'x');
  CHECK(journal->append(1, largest + "x").error().code == Errc::kLimit);
  REQUIRE(journal->append(1, largest));
  const auto contents = read_journal(path);
  REQUIRE(contents);
  REQUIRE(contents->records.size() == 1);
  CHECK(contents->records[0].payload == largest);
}

TEST_CASE("the stored journal of format 1 can still be read") {
  const auto contents = read_journal(robustrun::in_source("tests/golden/journal-v1.bin"));
  REQUIRE(contents);
  CHECK(contents->torn_bytes == 0);
  REQUIRE(contents->records.size() == 3);
  CHECK(contents->records[0].payload == "first");
  CHECK(contents->records[2].payload == "the third record");
  CHECK(contents->records[2].kind == 7);
}

}  // namespace journal_file_test
