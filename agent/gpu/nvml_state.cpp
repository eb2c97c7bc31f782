// Functions and structures of NVML's C interface (nvml.h), by their names in libnvidia-ml.so.1; all
// return nvmlReturn_t, where 0 is success. Those that a driver or a GPU lacks are left out.

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string>
#include <string_view>

#include "agent/gpu/gpu_state.h"
#include "agent/gpu/nvml_library.h"
#include "agent/node/limits.h"

namespace robustrun::agent {
namespace {

constexpr unsigned kTextBytes = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE, _UUID_V2_ has the same
constexpr unsigned kProcesses = 256;  // of one GPU
constexpr unsigned kMilliwatts = 1000;  // in a watt

struct Utilization {
  unsigned gpu, memory;
};
struct ProcessInfo {  // nvmlProcessInfo_t, of version 3 of the function
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

struct MemoryInfo {  // nvmlMemory_t, in bytes
  unsigned long long total, free, used;
};

using ForText = int (*)(NvmlDevice*, char*, unsigned);
using ForUtilization = int (*)(NvmlDevice*, Utilization*);
using ForMemory = int (*)(NvmlDevice*, MemoryInfo*);
using ForProcesses = int (*)(NvmlDevice*, unsigned*, ProcessInfo*);

void describe_identity(NvmlLibrary& library, NvmlDevice* device, std::string& out) {
  std::array<char, kTextBytes> text{};
  for (const auto& [fact, function] :
       {std::pair{"name", "nvmlDeviceGetName"}, std::pair{"uuid", "nvmlDeviceGetUUID"}}) {
    if (!library.call(ForText{}, function, device, text.data(), kTextBytes)) continue;
    text.back() = '\0';
    out += fmt::format("{} {}\n", fact, text.data());
  }
  NvmlPciInfo pci{};
  if (library.call(nvml::ForPci{}, "nvmlDeviceGetPciInfo_v3", device, &pci)) {
    out += fmt::format("pci {}\n", nvml_bus_id(pci));
  }
}

void describe_processes(NvmlLibrary& library, NvmlDevice* device, std::string& out) {
  std::array<ProcessInfo, kProcesses> processes{};
  unsigned count = kProcesses;
  if (!library.call(ForProcesses{}, "nvmlDeviceGetComputeRunningProcesses_v3", device, &count,
                    processes.data())) {
    return;
  }
  for (unsigned i = 0; i < std::min(count, kProcesses); ++i) {
    out += fmt::format("pid {}\n", processes[i].pid);
  }
}

void describe_memory(NvmlLibrary& library, NvmlDevice* device, std::string& out) {
  constexpr unsigned kMibShift = 20;
  MemoryInfo memory{};
  if (library.call(ForMemory{}, "nvmlDeviceGetMemoryInfo", device, &memory)) {
    out += fmt::format("used_mib {}\n", memory.used >> kMibShift);
  }
}

void describe_work(NvmlLibrary& library, NvmlDevice* device, std::string& out) {
  Utilization busy{};
  if (library.call(ForUtilization{}, "nvmlDeviceGetUtilizationRates", device, &busy)) {
    out += fmt::format("utilisation_percent {}\n", busy.gpu);
  } else if (library.code() == kNvmlGpuIsLost) {
    out += fmt::format("error {}\n", library.words());
  }
  unsigned milliwatts = 0;
  if (library.call(nvml::ForDeviceNumber{}, "nvmlDeviceGetPowerUsage", device, &milliwatts)) {
    out += fmt::format("power_w {}\n", milliwatts / kMilliwatts);
  }
  if (library.call(nvml::ForDeviceNumber{}, "nvmlDeviceGetEnforcedPowerLimit", device,
                   &milliwatts)) {
    out += fmt::format("power_limit_w {}\n", milliwatts / kMilliwatts);
  }
  unsigned long long errors = 0;
  if (library.call(nvml::ForEcc{}, "nvmlDeviceGetTotalEccErrors", device, kNvmlUncorrected,
                   kNvmlVolatile, &errors) &&
      errors > 0) {
    out += fmt::format("error {} uncorrected memory errors since its driver began\n", errors);
  }
}

}  // namespace

std::string nvml_bus_id(NvmlPciInfo& pci) {
  pci.bus_id.back() = '\0';
  std::string text = pci.bus_id.data();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string list_gpu_states() {
  void* const handle = ::dlopen(kNvmlLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {};
  NvmlLibrary library(handle);
  if (!library.call(nvml::ForNothing{}, "nvmlInit_v2")) {
    return fmt::format("refused nvmlInit failed with {}\n", library.words());
  }
  unsigned count = 0;
  std::string out;
  if (!library.call(nvml::ForNumber{}, "nvmlDeviceGetCount_v2", &count)) {
    return fmt::format("refused nvmlDeviceGetCount failed with {}\n", library.words());
  }
  for (unsigned i = 0; i < std::min<unsigned>(count, kGpusMax); ++i) {
    out += fmt::format("gpu {}\n", i);
    NvmlDevice* device = nullptr;
    if (!library.call(nvml::ForDevice{}, "nvmlDeviceGetHandleByIndex_v2", i, &device)) {
      out += fmt::format("error {}\n", library.words());
      continue;
    }
    describe_identity(library, device, out);
    describe_work(library, device, out);
    describe_memory(library, device, out);
    describe_processes(library, device, out);
  }
  static_cast<void>(library.call(nvml::ForNothing{}, "nvmlShutdown"));
  return out;
}

}  // namespace robustrun::agent
