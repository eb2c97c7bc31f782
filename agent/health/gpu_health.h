#pragma once
// The GPUs' own sensors and counters, and which changes of them are worth a finding. Pure: a helper
// asks NVML (nvml_health.h), and gpu_watch.h reads the helper.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "wire/messages/node_health.h"

namespace robustrun::agent {

// One GPU at one moment; values that it or its driver does not know are missing.
struct GpuSensors {
  std::uint32_t index = 0;  // NVML's: in the order of the PCI bus
  std::string pci;  // "00000000:3b:00.0", lower case
  std::string lost;  // NVML's message; empty: the GPU answers
  std::optional<std::uint64_t> ecc;  // uncorrected errors since the driver began
  std::optional<std::uint64_t> nvlink;  // errors of all its links
  std::optional<bool> remap_pending, remap_failed;
  std::optional<std::uint32_t> temperature_c, slowdown_c;
  std::optional<std::uint64_t> throttled;  // NVML's bits of reasons
};

// Parses "gpu 3 pci=… temperature=45 …", as gpu_line() writes it. kCorrupt: anything else.
[[nodiscard]] base::Result<GpuSensors> parse_gpu_line(std::string_view line);
[[nodiscard]] std::string gpu_line(const GpuSensors& sensors);

struct GpuNews {
  wire::NodeHealth finding;
  std::string pci;  // of an Xid: as the kernel's log has it, "0000:3b:00"
};

// The helper's "xid 3 00000000:3b:00.0 79", as the driver's line in the kernel's log would put it.
[[nodiscard]] base::Result<GpuNews> parse_xid_line(std::string_view line);

// Why clocks are lower than they should be: "hardware slowdown, power brake"; empty: they are not,
// or for a harmless reason (idle, power cap, the user's own settings).
[[nodiscard]] std::string throttle_words(std::uint64_t reasons);

class GpuHistory {
 public:
  std::vector<wire::NodeHealth> take(const GpuSensors& now);
  // "GPU 3" for a bus id of the kernel's log ("0000:3b:00"); empty: unknown.
  [[nodiscard]] std::string name_of(std::string_view pci) const;

 private:
  struct Gpu {
    std::optional<GpuSensors> last;
    bool hot = false, throttled = false;  // reported
    unsigned other_looks = 0;  // looks at the clocks, in a row, that contradicted the report
  };
  std::map<std::uint32_t, Gpu> gpus_;  // at most kGpusMax
};

// "0000:3b:00" of "00000000:3b:00.0".
[[nodiscard]] std::string kernel_bus_id(std::string_view nvml_bus_id);

}  // namespace robustrun::agent
