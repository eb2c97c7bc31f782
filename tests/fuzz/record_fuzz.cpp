// Any bytes as a progress record: a reading or an error, names printable, counts bounded. And any
// words in its tables: what is read of collectives contradicts nothing.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tracer/collectives_reader.h"
#include "tracer/limits.h"
#include "tracer/progress_record.h"
#include "tracer/record_collectives.h"
#include "tracer/record_file.h"

namespace {

using namespace robustrun::tracer;

void must(bool claim) {
  if (!claim) std::abort();
}

void check(const Membership& member) {
  must(member.comm != 0 && member.size <= kMembersMax);
  must(member.done <= member.started && member.started <= member.entered);
  must(member.entered <= kOrdinalMax && member.idle.count() >= 0);
  must(member.pending.size() <= 1024 && member.recent.size() <= 1024);
  for (const Operation& op : member.pending) must(op.ordinal <= kOrdinalMax && op.age.count() >= 0);
  for (const Flow& flow : member.flows) {
    must(flow.done <= flow.transmitted && flow.transmitted <= flow.ready);
    must(flow.ready <= flow.posted && flow.posted <= flow.steps && flow.peer >= 0);
  }
}

// Each 11 bytes of the input are a place in the tables and what is written there.
std::string patched(const std::uint8_t* data, std::size_t size) {
  std::string file(kCollectivesEnd, '\0');
  std::memcpy(file.data(), kRecordMagic.data(), kRecordMagic.size());
  std::memcpy(file.data() + 8, &kRecordMajor, sizeof kRecordMajor);
  std::memcpy(file.data() + 12, &kRecordMinor, sizeof kRecordMinor);
  for (; size >= 11; data += 11, size -= 11) {
    const std::size_t word = data[0] | data[1] << 8U | data[2] << 16U;
    std::memcpy(file.data() + 16 + word % (kCollectivesEnd / 8 - 2) * 8, data + 3, 8);
  }
  return file;
}

void read_tables(const std::string& file) {
  constexpr robustrun::base::Nanos kNow{1'000'000};
  const auto all = read_collectives(file, kNow);
  if (!all) return;
  for (const Membership& member : all->comms) check(member);
  const std::string_view table = std::string_view(file).substr(kCommunicatorsAt);
  must(count_communicators(table).size() >= all->comms.size());
  for (const KnownGroup& group : known_groups(table)) must(group.rank < group.size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_tables(patched(data, size));
  // A valid beginning, so that the fuzzer reaches what lies behind it at once.
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size >= 12) {
    std::memcpy(bytes.data(), kRecordMagic.data(), kRecordMagic.size());
    std::memcpy(bytes.data() + 8, &kRecordMajor, sizeof kRecordMajor);
  }
  const auto reading = decode_record(bytes);
  if (!reading) return 0;
  if (reading->metrics.size() > kMetricsMax) std::abort();
  for (const auto& [name, value] : reading->metrics) {
    for (const char c : name) {
      if (static_cast<unsigned char>(c) < ' ') std::abort();
    }
  }
  return 0;
}
