// Whatever a pack says: nothing outside of its folder is named.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "bootstrap/store/code_pack.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view pack(reinterpret_cast<const char*>(data), size);
  const auto files = robustrun::bootstrap::parse_code_pack(pack);
  if (!files) return 0;
  for (const auto& file : *files) {
    const bool is_out = file.path.empty() || file.path.front() == '/' || file.path == ".." ||
                        file.path.starts_with("../") ||
                        file.path.find("/../") != std::string_view::npos ||
                        file.target.starts_with('/');
    if (is_out) std::abort();
  }
  return 0;
}
