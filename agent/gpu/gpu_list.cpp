// Five functions of NVML's C interface, by their names in libnvidia-ml.so.1 (nvml.h, API version 2
// of nvmlInit and nvmlDeviceGetCount); all but nvmlErrorString return nvmlReturn_t, where 0 is
// success.

#include "agent/gpu/gpu_list.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <array>

#include "agent/node/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr unsigned kVersionBufferBytes = 80;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE

using Init = int (*)();
using DriverVersion = int (*)(char* version, unsigned length);
using Count = int (*)(unsigned* count);
using ErrorString = const char* (*)(int code);

template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

std::string refusal(const char* call, int code, ErrorString words) {
  const char* const text = words != nullptr ? words(code) : nullptr;
  return fmt::format("error {} failed with {} ({})\n", call, code,
                     text != nullptr ? text : "no words");
}

}  // namespace

std::string list_gpus() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "none\n";
  const auto init = find<Init>(library, "nvmlInit_v2");
  const auto version = find<DriverVersion>(library, "nvmlSystemGetDriverVersion");
  const auto count = find<Count>(library, "nvmlDeviceGetCount_v2");
  const auto shutdown = find<Init>(library, "nvmlShutdown");
  const auto words = find<ErrorString>(library, "nvmlErrorString");
  if (init == nullptr || version == nullptr || count == nullptr || shutdown == nullptr) {
    return fmt::format("error {} lacks a function\n", kLibrary);
  }
  if (const int code = init(); code != 0) return refusal("nvmlInit", code, words);
  std::array<char, kVersionBufferBytes> driver{};
  unsigned devices = 0;
  std::string text;
  if (const int code = version(driver.data(), kVersionBufferBytes); code != 0) {
    text = refusal("nvmlSystemGetDriverVersion", code, words);
  } else if (const int failed = count(&devices); failed != 0) {
    text = refusal("nvmlDeviceGetCount", failed, words);
  } else {
    driver.back() = '\0';
    text = fmt::format("driver {}\ncount {}\n", driver.data(), devices);
  }
  shutdown();
  return text;
}

base::Gpus read_gpus(const base::Result<std::string>& answer) {
  base::Gpus found;
  if (!answer) {
    found.has_library = true;
    found.error = answer.error().what.substr(0, kFactBytesMax);
    return found;
  }
  constexpr std::string_view kError = "error ";
  constexpr std::string_view kDriver = "driver ";
  constexpr std::string_view kCount = "count ";
  for (const std::string_view line : base::split(*answer, '\n')) {
    if (line.starts_with(kError)) found.error = line.substr(kError.size(), kFactBytesMax);
    if (line.starts_with(kDriver)) found.driver = line.substr(kDriver.size(), kVersionBytesMax);
    if (line.starts_with(kCount)) {
      found.count = base::parse_int<std::uint32_t>(line.substr(kCount.size())).value_or(0);
    }
  }
  found.has_library = !answer->starts_with("none");
  if (found.has_library && found.driver.empty() && found.error.empty()) {
    found.error = "its answer makes no sense";
  }
  return found;
}

}  // namespace robustrun::agent
