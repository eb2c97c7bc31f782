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

#include "agent/gpu_state.h"
#include "agent/limits.h"

namespace robustrun::agent {
namespace {

constexpr const char* kNvmlStateLibrary = "libnvidia-ml.so.1";
constexpr int kGpuIsLost = 15;  // NVML_ERROR_GPU_IS_LOST
constexpr unsigned kTextBytes = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE, _UUID_V2_ has the same
constexpr unsigned kProcesses = 256;  // of one GPU
constexpr unsigned kMilliwatts = 1000;  // in a watt
constexpr int kUncorrected = 1, kVolatile = 0;  // memory errors since the driver began

struct Device;  // nvmlDevice_t points to one
struct Utilization {
  unsigned gpu, memory;
};
struct PciInfo {  // nvmlPciInfo_t, version 3
  std::array<char, 16> bus_id_legacy;
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  std::array<char, 32> bus_id;
};
struct ProcessInfo {  // nvmlProcessInfo_t, of version 3 of the function
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

// The library's functions, each found when it is first needed.
class Library {
 public:
  explicit Library(void* handle) : handle_(handle) {}

  // False when it is not there or refuses.
  template <class... Parameters, class... Arguments>
  bool call(int (*)(Parameters...), const char* name, Arguments... arguments) {
    using Function = int (*)(Parameters...);
    const auto function = reinterpret_cast<Function>(::dlsym(handle_, name));
    code_ = function == nullptr ? kNoFunction : function(arguments...);
    return code_ == 0;
  }
  [[nodiscard]] int code() const { return code_; }
  [[nodiscard]] std::string words() const {
    using Words = const char* (*)(int);
    const auto function = reinterpret_cast<Words>(::dlsym(handle_, "nvmlErrorString"));
    const char* const text = function == nullptr ? nullptr : function(code_);
    return fmt::format("{} ({})", code_, text == nullptr ? "no words" : text);
  }

 private:
  static constexpr int kNoFunction = 13;  // NVML_ERROR_FUNCTION_NOT_FOUND
  void* handle_;
  int code_ = 0;
};

using ForNothing = int (*)();
using ForNumber = int (*)(unsigned*);
using ForDevice = int (*)(unsigned, Device**);
using ForText = int (*)(Device*, char*, unsigned);
using ForDeviceNumber = int (*)(Device*, unsigned*);
using ForUtilization = int (*)(Device*, Utilization*);
using ForPci = int (*)(Device*, PciInfo*);
using ForEcc = int (*)(Device*, int, int, unsigned long long*);
using ForProcesses = int (*)(Device*, unsigned*, ProcessInfo*);

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

void describe_identity(Library& nvml, Device* device, std::string& out) {
  std::array<char, kTextBytes> text{};
  for (const auto& [fact, function] :
       {std::pair{"name", "nvmlDeviceGetName"}, std::pair{"uuid", "nvmlDeviceGetUUID"}}) {
    if (!nvml.call(ForText{}, function, device, text.data(), kTextBytes)) continue;
    text.back() = '\0';
    out += fmt::format("{} {}\n", fact, text.data());
  }
  PciInfo pci{};
  if (nvml.call(ForPci{}, "nvmlDeviceGetPciInfo_v3", device, &pci)) {
    pci.bus_id.back() = '\0';
    out += fmt::format("pci {}\n", lower(pci.bus_id.data()));
  }
}

void describe_processes(Library& nvml, Device* device, std::string& out) {
  std::array<ProcessInfo, kProcesses> processes{};
  unsigned count = kProcesses;
  if (!nvml.call(ForProcesses{}, "nvmlDeviceGetComputeRunningProcesses_v3", device, &count,
                 processes.data())) {
    return;
  }
  for (unsigned i = 0; i < std::min(count, kProcesses); ++i) {
    out += fmt::format("pid {}\n", processes[i].pid);
  }
}

void describe_work(Library& nvml, Device* device, std::string& out) {
  Utilization busy{};
  if (nvml.call(ForUtilization{}, "nvmlDeviceGetUtilizationRates", device, &busy)) {
    out += fmt::format("utilisation_percent {}\n", busy.gpu);
  } else if (nvml.code() == kGpuIsLost) {
    out += fmt::format("error {}\n", nvml.words());
  }
  unsigned milliwatts = 0;
  if (nvml.call(ForDeviceNumber{}, "nvmlDeviceGetPowerUsage", device, &milliwatts)) {
    out += fmt::format("power_w {}\n", milliwatts / kMilliwatts);
  }
  if (nvml.call(ForDeviceNumber{}, "nvmlDeviceGetEnforcedPowerLimit", device, &milliwatts)) {
    out += fmt::format("power_limit_w {}\n", milliwatts / kMilliwatts);
  }
  unsigned long long errors = 0;
  if (nvml.call(ForEcc{}, "nvmlDeviceGetTotalEccErrors", device, kUncorrected, kVolatile,
                &errors) &&
      errors > 0) {
    out += fmt::format("error {} uncorrected memory errors since its driver began\n", errors);
  }
}

}  // namespace

std::string list_gpu_states() {
  void* const handle = ::dlopen(kNvmlStateLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {};
  Library nvml(handle);
  if (!nvml.call(ForNothing{}, "nvmlInit_v2")) {
    return fmt::format("refused nvmlInit failed with {}\n", nvml.words());
  }
  unsigned count = 0;
  std::string out;
  if (!nvml.call(ForNumber{}, "nvmlDeviceGetCount_v2", &count)) {
    return fmt::format("refused nvmlDeviceGetCount failed with {}\n", nvml.words());
  }
  for (unsigned i = 0; i < std::min<unsigned>(count, kGpusMax); ++i) {
    out += fmt::format("gpu {}\n", i);
    Device* device = nullptr;
    if (!nvml.call(ForDevice{}, "nvmlDeviceGetHandleByIndex_v2", i, &device)) {
      out += fmt::format("error {}\n", nvml.words());
      continue;
    }
    describe_identity(nvml, device, out);
    describe_work(nvml, device, out);
    describe_processes(nvml, device, out);
  }
  static_cast<void>(nvml.call(ForNothing{}, "nvmlShutdown"));
  return out;
}

}  // namespace robustrun::agent
