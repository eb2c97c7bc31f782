// The TOML reader must answer any bytes with a configuration or an error of one line.
// Seeds: configs

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/options/config_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = robustrun::cli::parse_config(text, "fuzz.toml");
  if (!config && !config.error().what.starts_with("fuzz.toml:")) std::abort();
  return 0;
}
