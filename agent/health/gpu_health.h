#pragma once
// What the GPUs' own sensors and counters say, and what of it is news. Pure; who asks NVML is a
// helper (nvml_health.h), who reads the helper gpu_watch.h.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "wire/messages/node_health.h"

namespace robustrun::agent {

// One GPU at one moment; what it or its driver does not know is missing.
struct GpuSensors {
  std::uint32_t index = 0;  // NVML's: in the order of the PCI bus
  std::string pci;          // "00000000:3b:00.0", lower case
  std::string lost;         // NVML's words; empty: it answers
  std::optional<std::uint64_t> ecc;      // uncorrected errors since the driver began
  std::optional<std::uint64_t> nvlink;   // errors of all its links
  std::optional<bool> remap_pending, remap_failed;
  std::optional<std::uint32_t> temperature_c, slowdown_c;
  std::optional<std::uint64_t> throttled;  // NVML's bits of reasons
};

// "gpu 3 pci=… temperature=45 …", as gpu_line() writes it. kCorrupt: something else.
[[nodiscard]] base::Result<GpuSensors> parse_gpu_line(std::string_view line);
[[nodiscard]] std::string gpu_line(const GpuSensors& sensors);

struct GpuNews {
  wire::NodeHealth finding;
  std::string pci;  // of an Xid: as the kernel's log has it, "0000:3b:00"
};

// "xid 3 00000000:3b:00.0 79" of the helper, as the driver's line in the kernel's log would say it.
[[nodiscard]] base::Result<GpuNews> parse_xid_line(std::string_view line);

// Why clocks are lower than they should be: "hardware slowdown, power brake"; empty: they are not,
// or for a reason that is no trouble (idle, power cap, the user's own settings).
[[nodiscard]] std::string throttle_words(std::uint64_t reasons);

class GpuHistory {
 public:
  std::vector<wire::NodeHealth> take(const GpuSensors& now);
  // "GPU 3", of a bus id of the kernel's log ("0000:3b:00"); empty: unknown.
  [[nodiscard]] std::string name_of(std::string_view pci) const;

 private:
  struct Gpu {
    std::optional<GpuSensors> last;
    bool hot = false, throttled = false;  // told
    unsigned other_looks = 0;  // at clocks, in a row, that saw other than was told
  };
  std::map<std::uint32_t, Gpu> gpus_;  // at most kGpusMax
};

// "0000:3b:00" of "00000000:3b:00.0".
[[nodiscard]] std::string kernel_bus_id(std::string_view nvml_bus_id);

}  // namespace robustrun::agent
