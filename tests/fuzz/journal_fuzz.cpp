// A journal of any bytes (first byte even), or of a good header and record with any bytes behind
// them (odd): reading never fails in another way than by an error, and a writer goes on where the
// reader stopped.
// Seeds: tests/fuzz/seeds/journal

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/io/fd.h"
#include "base/io/journal_file.h"

using namespace robustrun::base;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  const bool good_start = (input[0] & 1) != 0;
  input.remove_prefix(1);
  const Fd memory(::memfd_create("journal", MFD_CLOEXEC));
  RR_ASSERT(memory);
  const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
  if (good_start) {
    auto journal = JournalWriter::open(path);
    RR_ASSERT(journal && journal->append(1, "good"));
    RR_ASSERT(::lseek(memory.get(), 0, SEEK_END) > 0);
  }
  RR_ASSERT(write_all(memory.get(), input));

  const auto before = read_journal(path);
  auto journal = JournalWriter::open(path);
  RR_ASSERT(before.has_value() == journal.has_value());
  RR_ASSERT(before || !good_start);
  if (!before) return 0;
  RR_ASSERT(!good_start || before->records.at(0).payload == "good");
  RR_ASSERT(journal->append(9, "after"));
  const auto after = read_journal(path);
  RR_ASSERT(after && after->torn_bytes == 0);
  RR_ASSERT(after->records.size() == before->records.size() + 1);
  RR_ASSERT(after->records.back().payload == "after");
  return 0;
}
