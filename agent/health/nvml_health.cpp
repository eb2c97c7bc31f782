#include "agent/health/nvml_health.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "agent/gpu/nvml_library.h"
#include "agent/health/gpu_health.h"
#include "agent/health/limits.h"
#include "agent/node/limits.h"

namespace robustrun::agent {
namespace {

struct NvmlEventSet;  // nvmlEventSet_t points to one
struct NvmlEvent {    // nvmlEventData_t
  NvmlDevice* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

constexpr unsigned long long kXidEvent = 0x8;  // nvmlEventTypeXidCriticalError
constexpr int kCoreSensor = 0, kSlowdownThreshold = 1;
constexpr unsigned kNvlinksMax = 18;    // NVML_NVLINK_MAX_LINKS
constexpr int kNvlinkCounters = 4;      // replay, recovery, CRC of flits, CRC of data
constexpr unsigned kEventsPerRound = 64;

using ForEventSet = int (*)(NvmlEventSet**);
using ForRegistration = int (*)(NvmlDevice*, unsigned long long, NvmlEventSet*);
using ForEvent = int (*)(NvmlEventSet*, NvmlEvent*, unsigned);
using ForReasons = int (*)(NvmlDevice*, unsigned long long*);
using ForRows = int (*)(NvmlDevice*, unsigned*, unsigned*, unsigned*, unsigned*);
using ForTemperature = int (*)(NvmlDevice*, int, unsigned*);
using ForLink = int (*)(NvmlDevice*, unsigned, unsigned*);
using ForLinkErrors = int (*)(NvmlDevice*, unsigned, int, unsigned long long*);

class NvmlWatch {
 public:
  NvmlWatch(void* handle, unsigned count) : library_(handle), gpus_(count) {}

  // Events that a GPU or driver does not know are not waited for.
  void register_events() {
    if (!library_.call(ForEventSet{}, "nvmlEventSetCreate", &events_)) return;
    for (unsigned i = 0; i < gpus_.size(); ++i) {
      NvmlDevice* device = nullptr;
      if (!library_.call(nvml::ForDevice{}, "nvmlDeviceGetHandleByIndex_v2", i, &device)) continue;
      gpus_[i].device = device;
      gpus_[i].pci = pci_of(device);
      has_events_ |=
          library_.call(ForRegistration{}, "nvmlDeviceRegisterEvents", device, kXidEvent, events_);
    }
  }

  // Waits for kGpuEventWait at most; returns lines for the events.
  std::string wait() {
    std::string lines;
    for (unsigned i = 0; has_events_ && i < kEventsPerRound; ++i) {
      NvmlEvent event{};
      const unsigned timeout_ms = i == 0 ? static_cast<unsigned>(kGpuEventWait.count()) : 0;
      if (library_.call(ForEvent{}, "nvmlEventSetWait_v2", events_, &event, timeout_ms)) {
        lines += line_of(event);
        continue;
      }
      if (library_.code() == kNvmlTimeout) return lines;
      break;  // usually a lost GPU: asked again, but not at once
    }
    pollfd nothing{-1, 0, 0};
    ::poll(&nothing, 1, static_cast<int>(kGpuEventWait.count()));
    return lines;
  }

  std::string read_all() {
    std::string lines;
    for (unsigned i = 0; i < gpus_.size(); ++i) lines += gpu_line(read(i)) + "\n";
    return lines;
  }

 private:
  struct Known {
    NvmlDevice* device = nullptr;
    std::string pci;
  };

  std::string pci_of(NvmlDevice* device) {
    NvmlPciInfo pci{};
    return library_.call(nvml::ForPci{}, "nvmlDeviceGetPciInfo_v3", device, &pci) ? nvml_bus_id(pci)
                                                                                  : std::string();
  }

  [[nodiscard]] std::string line_of(const NvmlEvent& event) const {
    const auto gpu = std::ranges::find(gpus_, event.device, &Known::device);
    if (event.type != kXidEvent || gpu == gpus_.end()) return {};
    return fmt::format("xid {} {} {}\n", gpu - gpus_.begin(), gpu->pci, event.data);
  }

  GpuSensors read(unsigned index) {
    GpuSensors sensors;
    sensors.index = index;
    sensors.pci = gpus_[index].pci;
    NvmlDevice* device = nullptr;
    unsigned value = 0;
    if (!library_.call(nvml::ForDevice{}, "nvmlDeviceGetHandleByIndex_v2", index, &device)) {
      if (is_gone()) sensors.lost = library_.words();
      return sensors;
    }
    gpus_[index].device = device;
    if (library_.call(ForTemperature{}, "nvmlDeviceGetTemperature", device, kCoreSensor, &value)) {
      sensors.temperature_c = value;
    } else if (is_gone()) {
      sensors.lost = library_.words();
      return sensors;
    }
    if (library_.call(ForTemperature{}, "nvmlDeviceGetTemperatureThreshold", device,
                      kSlowdownThreshold, &value)) {
      sensors.slowdown_c = value;
    }
    unsigned long long wide = 0;
    if (library_.call(nvml::ForEcc{}, "nvmlDeviceGetTotalEccErrors", device, kNvmlUncorrected,
                      kNvmlVolatile, &wide)) {
      sensors.ecc = wide;
    }
    if (library_.call(ForReasons{}, "nvmlDeviceGetCurrentClocksThrottleReasons", device, &wide)) {
      sensors.throttled = wide;
    }
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    if (library_.call(ForRows{}, "nvmlDeviceGetRemappedRows", device, &corrected, &uncorrected,
                      &pending, &failed)) {
      sensors.remap_pending = pending != 0;
      sensors.remap_failed = failed != 0;
    }
    read_links(device, sensors);
    return sensors;
  }

  void read_links(NvmlDevice* device, GpuSensors& sensors) {
    for (unsigned link = 0; link < kNvlinksMax; ++link) {
      unsigned active = 0;
      if (!library_.call(ForLink{}, "nvmlDeviceGetNvLinkState", device, link, &active)) return;
      for (int counter = 0; active != 0 && counter < kNvlinkCounters; ++counter) {
        unsigned long long errors = 0;
        if (library_.call(ForLinkErrors{}, "nvmlDeviceGetNvLinkErrorCounter", device, link, counter,
                          &errors)) {
          sensors.nvlink = sensors.nvlink.value_or(0) + errors;
        }
      }
    }
  }

  [[nodiscard]] bool is_gone() const {
    return library_.code() == kNvmlGpuIsLost || library_.code() == kNvmlNotFound;
  }

  NvmlLibrary library_;
  std::vector<Known> gpus_;
  NvmlEventSet* events_ = nullptr;
  bool has_events_ = false;
};

}  // namespace

void watch_gpus(const std::function<bool(std::string_view)>& write) {
  void* const handle = ::dlopen(kNvmlLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return static_cast<void>(write("none\n"));
  NvmlLibrary library(handle);
  unsigned count = 0;
  if (!library.call(nvml::ForNothing{}, "nvmlInit_v2") ||
      !library.call(nvml::ForNumber{}, "nvmlDeviceGetCount_v2", &count)) {
    return static_cast<void>(write(fmt::format("refused {}\n", library.words())));
  }
  if (count == 0) return static_cast<void>(write("none\n"));
  NvmlWatch watch(handle, std::min<unsigned>(count, kGpusMax));
  watch.register_events();
  constexpr auto kRounds = kGpuInterval / kGpuEventWait;
  for (unsigned round = 0;; ++round) {
    std::string lines = round % kRounds == 0 ? watch.read_all() : std::string();
    if (!write(lines + "beat\n")) return;
    lines = watch.wait();
    if (!lines.empty() && !write(lines)) return;
  }
}

}  // namespace robustrun::agent
