// Any bytes as NCCL's configuration file, as the beginning of a foreign plugin's file, and as the
// loader's words about it.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/spawn/profiler_choice.h"
#include "agent/spawn/profiler_slot.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace robustrun;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kVariable = "NCCL_PROFILER_PLUGIN";
  const std::string_view value = agent::configured(bytes, kVariable);
  if (!value.empty()) {
    if (value.contains('\n')) std::abort();
    const std::string line = std::string(kVariable).append(1, '=').append(value);
    if (!bytes.contains(line) || agent::configured(line, kVariable) != value) std::abort();
  }
  const std::string machine = agent::other_machine(bytes);
  if (!machine.empty() && !bytes.starts_with("\177ELF")) std::abort();
  if (machine.size() > 16) std::abort();
  const std::string_view candidate = bytes.substr(0, bytes.find(':'));
  if (agent::is_about_the_file(bytes, candidate) && !bytes.contains(candidate)) std::abort();
  return 0;
}
