#pragma once
// How often machines of a cluster fail, and how: the rate, the mix of kinds, joint failures, and
// repair times. Plain data; the presets are published clusters.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/figure.h"

namespace robustrun::simulator {

// What a fault means to a supervisor. The values index arrays; kind_name() has the words.
enum class FaultKind : std::uint8_t {
  kGpu,          // a device of the machine fails, its worker ends with an error
  kMachine,      // the whole machine is gone
  kHang,         // a worker waits for ever, without an error
  kSlow,         // a machine slows all others down for a while
  kSoftware,     // the job's own error: an exception
  kPassing,      // storage or network; the worker ends with an error, and a restart helps
  kMaintenance,  // the machine is taken away for a while, announced shortly before
};
inline constexpr std::size_t kKinds = 7;

const char* kind_name(FaultKind kind);  // "gpu", "machine", …: as in a failures file
inline std::size_t index(FaultKind kind) { return static_cast<std::size_t>(kind); }

struct FailureModel {
  std::string name;
  std::string about;  // for people: "Llama 3, 16,384 H100, 54 days"
  Figure<double> per_node_day;  // all kinds together, per machine
  Figure<std::array<double, kKinds>> mix;  // weights by kind; their sum is positive
  // The share of machine faults (gpu, machine) that take other machines along, and how many they
  // take.
  Figure<double> shared;
  Figure<std::uint32_t> neighbours;
  // The share of hangs in which the machine is broken and hangs again until it is repaired.
  Figure<double> hang_stays;
  Figure<Nanos> repair;  // mean, exponential: until a broken machine is back
  Figure<Nanos> maintained;  // mean, exponential: until a machine in maintenance is back
  Figure<Nanos> slow_for;  // mean, exponential: until a slow machine recovers by itself
  Figure<double> slow_factor;  // with a slow machine, steps take so many times as long

  [[nodiscard]] double share(FaultKind kind) const;  // of all faults, 0 to 1
  [[nodiscard]] double rate(FaultKind kind) const { return per_node_day.value * share(kind); }
};

[[nodiscard]] const std::vector<FailureModel>& presets();
[[nodiscard]] std::optional<FailureModel> preset(std::string_view name);
// Base for a site's own failures file: rate 0, the mix of llama3.
[[nodiscard]] FailureModel unknown_site();

}  // namespace robustrun::simulator
