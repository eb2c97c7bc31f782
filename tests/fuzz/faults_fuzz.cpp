// Faults in TOML: any bytes become rows or an error that names the file; and any rows can be
// compared with any lines.
// Seeds: configs

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/tables/fault_file.h"
#include "supervisor/core/fault/fault_class.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rows = robustrun::cli::parse_faults(text, "fuzz.toml");
  if (!rows && !rows.error().what.starts_with("fuzz.toml:")) std::abort();
  static const auto shipped =
      robustrun::cli::parse_faults(robustrun::cli::built_in_faults(), "built in").value();
  robustrun::supervisor::WorkerExited exited;
  exited.code = 1;
  exited.error_message = text;
  exited.stderr_tail = {"Traceback (most recent call last):", std::string(text)};
  const auto what = robustrun::supervisor::classify(
      exited, robustrun::supervisor::FaultPhase::kProgressing, rows ? *rows : shipped);
  if (what.name.empty() || what.evidence.empty()) std::abort();
  return 0;
}
