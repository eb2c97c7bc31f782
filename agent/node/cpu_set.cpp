#include "agent/node/cpu_set.h"

#include <fmt/core.h>

#include <algorithm>

#include "agent/node/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {

CpuSet parse_cpu_list(std::string_view text) {
  CpuSet cpus;
  for (const std::string_view piece : base::split(base::trim(text), ',')) {
    const std::size_t dash = piece.find('-');
    const auto first = base::parse_int<unsigned>(piece.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : base::parse_int<unsigned>(piece.substr(dash + 1));
    if (!first || !last) continue;
    for (unsigned cpu = *first; cpu <= std::min(*last, kCpusMax - 1); ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

std::string format_cpu_list(const CpuSet& cpus) {
  std::string text;
  for (auto at = cpus.begin(); at != cpus.end();) {
    const unsigned first = *at;
    unsigned last = first;
    while (++at != cpus.end() && *at == last + 1) ++last;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

}  // namespace robustrun::agent
