#include "agent/gpu/gpu_state.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "agent/gpu/nvml_library.h"
#include "agent/node/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

// The number of a line like "power_w 350".
std::uint32_t number(std::string_view text) {
  return base::parse_int<std::uint32_t>(text).value_or(0);
}

void add_fact(std::string_view name, std::string_view value, GpuReading& gpu) {
  if (name == "name") gpu.state.name = base::printable(value.substr(0, kVersionBytesMax));
  if (name == "uuid") gpu.uuid = value.substr(0, kVersionBytesMax);
  if (name == "pci") gpu.pci = value.substr(0, kVersionBytesMax);
  if (name == "utilisation_percent") gpu.state.utilisation_percent = number(value);
  if (name == "power_w") gpu.state.power_w = number(value);
  if (name == "power_limit_w") gpu.state.power_limit_w = number(value);
  if (name == "error" && gpu.state.errors.size() < kGpuErrorsMax) {
    gpu.state.errors.push_back(base::printable(value.substr(0, kFactBytesMax)));
  }
  if (name == "used_mib") gpu.state.used_mib = number(value);
  if (name == "pid") {
    if (const auto pid = base::parse_int<pid_t>(value)) gpu.pids.push_back(*pid);
  }
}

bool computes_on(const GpuReading& gpu, std::span<const pid_t> tree) {
  return std::ranges::find_first_of(gpu.pids, tree) != gpu.pids.end();
}

// Like CUDA, accepts the beginning of a UUID.
bool is_visible(const GpuReading& gpu, std::span<const std::string> visible) {
  return visible.empty() || std::ranges::any_of(visible, [&](const std::string& each) {
           return each == std::to_string(gpu.index) ||
                  (each.starts_with("GPU-") && gpu.uuid.starts_with(each));
         });
}

// The log's "0000:3b:00" is the library's "00000000:3b:00.0".
bool is_of(const GpuReading& gpu, std::string_view pci) {
  const std::size_t device = gpu.pci.rfind('.');
  std::string_view own = std::string_view(gpu.pci).substr(0, device);
  return !pci.empty() && own.size() >= pci.size() && own.ends_with(pci);
}

// "4,1234,5678901,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=…": the third number is in microseconds.
void take_record(std::string_view record, base::Nanos since, std::vector<GpuReading>& gpus) {
  constexpr std::string_view kXid = "NVRM: Xid (PCI:";
  constexpr std::size_t kTime = 2;
  const std::size_t text = record.find(';');
  const std::size_t xid = record.find(kXid);
  if (text == record.npos || xid != text + 1) return;  // not a text that mentions one
  const auto front = base::split(record.substr(0, text), ',');
  const auto at = front.size() > kTime ? base::parse_int<std::int64_t>(front[kTime])
                                       : base::fail(base::Errc::kCorrupt, "");
  if (!at || std::chrono::microseconds(*at) < since) return;
  std::string_view line = record.substr(xid);
  line = line.substr(0, line.find('\n'));
  std::string_view pci = line.substr(kXid.size());
  pci = pci.substr(0, pci.find(')'));
  for (GpuReading& gpu : gpus) {
    if (!is_of(gpu, pci)) continue;
    auto& errors = gpu.state.errors;
    if (errors.size() == kGpuErrorsMax) errors.erase(errors.begin());
    errors.push_back(base::printable(line.substr(0, kFactBytesMax)));
  }
}

// What the helper does: calls functions of NVML's C interface by their names in libnvidia-ml.so.1.
// Facts that the driver or the GPU does not know are left out.

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

base::Result<std::vector<GpuReading>> read_gpu_states(std::string_view answer) {
  constexpr std::string_view kRefused = "refused";
  std::vector<GpuReading> gpus;
  for (const std::string_view line : base::split(answer, '\n')) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view name = line.substr(0, space);
    const std::string_view value = line.substr(std::min(space + 1, line.size()));
    if (name == kRefused) {
      return base::fail(base::Errc::kUnavailable, base::printable(value.substr(0, kFactBytesMax)));
    }
    if (name == "gpu") {
      if (gpus.size() == kGpusMax) break;
      gpus.emplace_back().index = number(value);
    } else if (!gpus.empty()) {
      add_fact(name, value, gpus.back());
    }
  }
  return gpus;
}

std::vector<GpuReading> gpus_of(std::vector<GpuReading> all, std::span<const pid_t> tree,
                                std::span<const std::string> visible) {
  const bool known =
      std::ranges::any_of(all, [&](const GpuReading& gpu) { return computes_on(gpu, tree); });
  std::erase_if(all, [&](const GpuReading& gpu) {
    return known ? !computes_on(gpu, tree) : !is_visible(gpu, visible);
  });
  return all;
}

void add_xid_lines(base::Nanos since, std::vector<GpuReading>& gpus, const std::string& kmsg) {
  constexpr std::size_t kRecordBytesMax = 8192;  // CONSOLE_EXT_LOG_MAX of the kernel
  const base::Fd log(::open(kmsg.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!log) return;
  std::array<char, kRecordBytesMax> buffer{};
  // One read gives one record; EPIPE: older ones were overwritten, and the next read continues.
  for (unsigned i = 0; i < kKernelRecordsMax; ++i) {
    const ssize_t size = ::read(log.get(), buffer.data(), buffer.size());
    if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (size <= 0) return;
    take_record({buffer.data(), static_cast<std::size_t>(size)}, since, gpus);
  }
}

}  // namespace robustrun::agent
