// Any bytes as a run's journal: its records are decoded, and every text is made from them.
//
// Input: records of  u8 kind | u16 payload length | payload,  little endian.

#include <cstdint>
#include <string_view>

#include "supervisor/control/json.h"
#include "supervisor/core/report/child_failed.h"
#include "supervisor/core/report/html/html.h"
#include "supervisor/core/report/render.h"
#include "supervisor/core/report/trace.h"
#include "supervisor/core/status/render.h"
#include "supervisor/run_dir/journal.h"

namespace {

using namespace robustrun::supervisor;

constexpr std::size_t kHeadBytes = 3;

std::vector<JournalEntry> entries_of(std::string_view input) {
  std::vector<JournalEntry> entries;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(input[i]); };
  while (input.size() >= kHeadBytes) {
    const std::uint32_t kind = byte(0);
    const std::size_t length = byte(1) | static_cast<std::size_t>(byte(2)) << 8U;
    input.remove_prefix(kHeadBytes);
    auto entry = decode_entry(kind, input.substr(0, length));
    if (entry && *entry) {
      // What was read once must survive being written and read again.
      const EncodedEntry again = encode_entry(**entry);
      if (!decode_entry(again.kind, again.payload)) __builtin_trap();
      entries.push_back(**std::move(entry));
    }
    input.remove_prefix(std::min(length, input.size()));
  }
  return entries;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto entries = entries_of({reinterpret_cast<const char*>(data), size});
  const RunReport report = build_report(entries);
  static_cast<void>(render_report(report, {true, 80, Detail::kFull}));
  static_cast<void>(report_json(report));
  static_cast<void>(html_report(entries));
  static_cast<void>(trace_events(entries));
  static_cast<void>(child_failed_block(entries));
  static_cast<void>(nested_error_json(entries));
  const RunStatus status = status_of_journal(entries);
  static_cast<void>(render_status(status, true, 80, 100));
  const auto again = read_status_answer(write_status_answer(status));
  if (!again || again->nodes.size() != status.nodes.size()) __builtin_trap();
  return 0;
}
