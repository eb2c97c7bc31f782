// A file of failures: any bytes become a model that can be drawn from, or an error that names the
// file.
// Seeds: configs

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/sim/failures_file.h"
#include "simulator/fault_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace simulator = robustrun::simulator;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto model = robustrun::cli::parse_failures(text, "fuzz.toml");
  if (!model) {
    if (!model.error().what.starts_with("fuzz.toml:")) std::abort();
    return 0;
  }
  const auto trace = simulator::make_trace(*model, 8, simulator::hours(24), 1);
  for (const simulator::TracedFault& fault : trace) {
    if (fault.machine >= 8 || fault.lasts < simulator::Nanos{}) std::abort();
  }
  return 0;
}
