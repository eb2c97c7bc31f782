// Any bytes as what the probe printed: a result within its limits, or refused.
// Seeds: tests/fixtures/probe

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probe/limits.h"
#include "probe/result.h"

namespace probe = robustrun::probe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto found =
      probe::read_result("copy", std::string_view(reinterpret_cast<const char*>(data), size));
  if (!found) return 0;
  if (found->models.size() > probe::kGpusMax || found->figures.size() > probe::kFiguresMax ||
      found->sums.size() > probe::kSumsMax || found->faults.size() > probe::kFaultsMax) {
    std::abort();
  }
  for (const auto& figure : found->figures) {
    if (figure.gpu >= found->models.size() || !std::isfinite(figure.value)) std::abort();
  }
  static_cast<void>(probe::write_result("copy", *found));
  return 0;
}
