#pragma once
// The GPUs' sensors and counters, and which of their changes are findings. Pure: a helper process
// calls NVML (nvml_health.h), and gpu_watch.h reads the helper's output.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "wire/messages/node_health.h"

namespace robustrun::agent {

// One GPU at one moment. nullopt: the GPU or its driver does not provide the value.
struct GpuSensors {
  std::uint32_t index = 0;  // NVML's index: in the order of the PCI bus
  std::string pci;  // "00000000:3b:00.0", lower case
  std::string lost;  // NVML's message; empty: the GPU answers
  std::optional<std::uint64_t> ecc;  // uncorrected memory errors since the driver was loaded
  std::optional<std::uint64_t> nvlink;  // errors of all its NVLinks
  std::optional<bool> remap_pending, remap_failed;
  std::optional<std::uint32_t> temperature_c, slowdown_c;
  std::optional<std::uint64_t> throttled;  // NVML's bits of reasons
};

// Parses "gpu 3 pci=… temperature=45 …", a line of gpu_line(). kCorrupt: any other line.
[[nodiscard]] base::Result<GpuSensors> parse_gpu_line(std::string_view line);
[[nodiscard]] std::string gpu_line(const GpuSensors& sensors);

struct GpuNews {
  wire::NodeHealth finding;
  std::string pci;  // of an Xid error: "0000:3b:00", as in the kernel's log; otherwise empty
};

// Parses the helper's line "xid 3 00000000:3b:00.0 79". The finding's line looks like the driver's
// line in the kernel's log. Any other line is an error.
[[nodiscard]] base::Result<GpuNews> parse_xid_line(std::string_view line);

// Why clocks are throttled, from GpuSensors::throttled: "hardware slowdown, power brake". Empty:
// they are not, or for a harmless reason (idle, power cap, the user's settings).
[[nodiscard]] std::string throttle_words(std::uint64_t reasons);

// Compares the readings of each GPU with earlier ones.
class GpuHistory {
 public:
  // Returns the findings that `now` adds.
  std::vector<wire::NodeHealth> take(const GpuSensors& now);
  // "GPU 3" for a bus id of the kernel's log ("0000:3b:00"); empty: unknown.
  [[nodiscard]] std::string name_of(std::string_view pci) const;

 private:
  struct Gpu {
    std::optional<GpuSensors> last;
    bool hot = false, throttled = false;  // as last reported
    unsigned other_looks = 0;  // consecutive readings that contradict `throttled`
  };
  std::map<std::uint32_t, Gpu> gpus_;  // at most kGpusMax
};

// Converts NVML's "00000000:3b:00.0" to the kernel log's "0000:3b:00".
[[nodiscard]] std::string kernel_bus_id(std::string_view nvml_bus_id);

}  // namespace robustrun::agent
