// Any bytes as the kernel's log: what is told of it is short, printable and of one line.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/health/kernel_record.h"
#include "base/core/text.h"
#include "wire/messages/limits.h"

using namespace robustrun;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view line : base::split(text, '\n')) {
    const auto record = agent::parse_kernel_record(line);
    if (!record) continue;
    static_cast<void>(agent::tells_of_link(*record));
    const auto news = agent::kernel_news(*record);
    if (!news) continue;
    const auto& finding = news->finding;
    if (finding.subject.size() > wire::kHealthSubjectBytesMax) std::abort();
    if (finding.line.size() > wire::kHealthLineBytesMax) std::abort();
    if (base::printable(finding.line) != finding.line) std::abort();
    if (finding.xid == 0 && !news->pci.empty()) std::abort();
  }
  return 0;
}
