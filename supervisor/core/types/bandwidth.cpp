#include "supervisor/core/types/bandwidth.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/core/text.h"
#include "base/core/words.h"
#include "tracer/analysis/sentence.h"

namespace robustrun::supervisor {
namespace {

// As nccl-tests prints it: 1 GB is 10^9 bytes.
std::string speed_words(double bytes_per_s) {
  return fmt::format("{:.3g} GB/s", bytes_per_s / 1e9);
}

void add(std::vector<Bandwidth>& sums, const Bandwidth& one) {
  const auto same =
      std::ranges::find_if(sums, [&](const Bandwidth& sum) { return sum.is_like(one); });
  if (same == sums.end()) {
    sums.push_back(one);
    return;
  }
  same->count += one.count;
  same->bytes += one.bytes;
  same->busy += one.busy;
}

}  // namespace

void BandwidthFold::take(std::uint32_t attempt, const std::vector<Bandwidth>& total) {
  if (total.empty()) return;
  for (const Bandwidth& one : std::exchange(newest_, total)) {
    const auto now =
        std::ranges::find_if(newest_, [&](const Bandwidth& row) { return row.is_like(one); });
    const bool goes_on = attempt == attempt_ && now != newest_.end() && now->count >= one.count;
    if (!goes_on) add(before_, one);
  }
  attempt_ = attempt;
}

std::vector<Bandwidth> BandwidthFold::sums() const {
  std::vector<Bandwidth> sums = before_;
  for (const Bandwidth& one : newest_) add(sums, one);
  return sums;
}

double Bandwidth::algorithm() const {
  if (busy <= base::Nanos{}) return 0;
  return static_cast<double>(bytes) / std::chrono::duration<double>(busy).count();
}

double Bandwidth::bus() const { return algorithm() * tracer::bus_factor(kind, members); }

std::vector<BandwidthRow> rows_of(std::vector<Bandwidth> measured) {
  std::ranges::stable_sort(measured, std::greater{}, &Bandwidth::busy);
  std::vector<BandwidthRow> rows;
  for (const Bandwidth& one : measured) {
    rows.push_back({one.group, one.first_rank, one.members, std::string(to_string(one.kind)),
                    one.size(), one.count, one.algorithm(), one.bus()});
  }
  return rows;
}

std::string in_words(const BandwidthRow& row) {
  const std::string group = row.group.empty() ? "a group" : base::printable(row.group);
  std::string text =
      fmt::format("{} ({} from rank {}): {} of {} at {}", group, base::counted(row.members, "rank"),
                  row.first_rank, row.operation, tracer::amount_text(row.size_bytes),
                  speed_words(row.algorithm_bytes_per_s));
  if (row.bus_bytes_per_s > 0) text += fmt::format(" (bus {})", speed_words(row.bus_bytes_per_s));
  return text;
}

}  // namespace robustrun::supervisor
