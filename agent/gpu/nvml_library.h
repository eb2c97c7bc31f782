#pragma once
// NVIDIA's management library (NVML, libnvidia-ml.so.1), loaded at run time, with those structures
// and function types of its C interface (nvml.h) that several files need. All its functions but
// nvmlErrorString return nvmlReturn_t, where 0 is success. Only for helper processes, because the
// library's calls may hang.

#include <dlfcn.h>
#include <fmt/core.h>

#include <array>
#include <string>

namespace robustrun::agent {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";
inline constexpr int kNvmlNotFound = 6, kNvmlTimeout = 10, kNvmlGpuIsLost = 15;
// Together: memory errors that were not corrected, counted since the driver was loaded.
inline constexpr int kNvmlUncorrected = 1, kNvmlVolatile = 0;

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

// Calls the library's functions by name. `handle`: from dlopen().
class NvmlLibrary {
 public:
  explicit NvmlLibrary(void* handle) : handle_(handle) {}

  // Calls the function `name`; the first argument only gives its type. Returns false if the library
  // lacks the function or if the function fails.
  template <class... Parameters, class... Arguments>
  bool call(int (*)(Parameters...), const char* name, Arguments... arguments) {
    using Function = int (*)(Parameters...);
    const auto function = reinterpret_cast<Function>(::dlsym(handle_, name));
    code_ = function == nullptr ? kNoFunction : function(arguments...);
    return code_ == 0;
  }
  // The result of the last call, as a number and in the library's words.
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

// The bus id in lower case: "00000000:3b:00.0".
[[nodiscard]] std::string nvml_bus_id(NvmlPciInfo& pci);

}  // namespace robustrun::agent
