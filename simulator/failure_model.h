#pragma once
// How often machines of a cluster fail, and how: the rate, the mix of kinds, what fails together,
// and how long a repair takes. Plain data; the presets are published clusters.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/figure.h"

namespace robustrun::simulator {

// What a fault is to a supervisor. Numbers index arrays; words are in kind_name().
enum class FaultKind : std::uint8_t {
  kGpu,          // explicit: a device of the machine fails, its worker ends with an error
  kMachine,      // explicit: the whole machine is gone
  kHang,         // a worker waits for ever, without an error
  kSlow,         // a machine slows all others down, until that passes
  kSoftware,     // the job's own: an exception
  kPassing,      // storage or network; the worker ends with an error, and a restart helps
  kMaintenance,  // the machine is taken away for a while, announced shortly before
};
inline constexpr std::size_t kKinds = 7;

const char* kind_name(FaultKind kind);  // "gpu", "machine", …: as in a file of failures
inline std::size_t index(FaultKind kind) { return static_cast<std::size_t>(kind); }

struct FailureModel {
  std::string name;
  std::string about;  // for people: "Llama 3, 16,384 H100, 54 days"
  Figure<double> per_node_day;  // all kinds together, of a machine that is in use
  Figure<std::array<double, kKinds>> mix;  // weights by kind; their sum is positive
  // Of the faults of a machine (gpu, machine): the share that takes others with it, and how many.
  Figure<double> shared;
  Figure<std::uint32_t> neighbours;
  // Of hangs: the share where the machine is broken and will hang again until it is repaired.
  Figure<double> hang_stays;
  Figure<Nanos> repair;  // mean, exponential: until a broken machine is back
  Figure<Nanos> maintained;  // mean: until one taken for maintenance is back
  Figure<Nanos> slow_for;  // mean: until a slow machine is fast again by itself
  Figure<double> slow_factor;  // steps take so many times as long meanwhile

  [[nodiscard]] double share(FaultKind kind) const;  // of all faults, 0 to 1
  [[nodiscard]] double rate(FaultKind kind) const { return per_node_day.value * share(kind); }
};

[[nodiscard]] const std::vector<FailureModel>& presets();
[[nodiscard]] std::optional<FailureModel> preset(std::string_view name);
// What a site's own file starts from: no rate, the mix of llama3.
[[nodiscard]] FailureModel unknown_site();

}  // namespace robustrun::simulator
