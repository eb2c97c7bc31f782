#pragma once
// NVIDIA's management library, found at run time: libnvidia-ml.so.1, with the structures and
// function types of its C interface (nvml.h) that more than one of our helpers needs. All functions
// return nvmlReturn_t, where 0 is success. For helper processes alone: its calls may hang.

#include <dlfcn.h>
#include <fmt/core.h>

#include <array>
#include <string>

namespace robustrun::agent {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";
inline constexpr int kNvmlNotFound = 6, kNvmlTimeout = 10, kNvmlGpuIsLost = 15;
inline constexpr int kNvmlUncorrected = 1, kNvmlVolatile = 0;  // errors since the driver began

struct NvmlDevice;  // nvmlDevice_t points to one
struct NvmlPciInfo {  // nvmlPciInfo_t, version 3
  std::array<char, 16> bus_id_legacy;
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  std::array<char, 32> bus_id;
};

namespace nvml {
using ForNothing = int (*)();
using ForNumber = int (*)(unsigned*);
using ForDevice = int (*)(unsigned, NvmlDevice**);
using ForDeviceNumber = int (*)(NvmlDevice*, unsigned*);
using ForPci = int (*)(NvmlDevice*, NvmlPciInfo*);
using ForEcc = int (*)(NvmlDevice*, int, int, unsigned long long*);
}  // namespace nvml

// The library's functions. Each call looks its function up by name.
class NvmlLibrary {
 public:
  explicit NvmlLibrary(void* handle) : handle_(handle) {}

  // False when the library lacks the function or the call fails.
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

// Lower case, as in gpu_state.h.
[[nodiscard]] std::string nvml_bus_id(NvmlPciInfo& pci);

}  // namespace robustrun::agent
