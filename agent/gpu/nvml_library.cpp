#include "agent/gpu/nvml_library.h"

#include <algorithm>
#include <cctype>

namespace robustrun::agent {

std::string nvml_bus_id(NvmlPciInfo& pci) {
  pci.bus_id.back() = '\0';
  std::string text = pci.bus_id.data();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace robustrun::agent
