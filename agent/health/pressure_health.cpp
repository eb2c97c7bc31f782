#include "agent/health/pressure_health.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <utility>

#include "agent/health/limits.h"
#include "agent/process/cgroup.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

using base::Nanos;
using wire::NodeHealth;

constexpr std::size_t kPressureBytesMax = 4096;

std::optional<double> file_pressure(const std::string& path) {
  const auto text = base::read_file(path, kPressureBytesMax);
  return text ? full_pressure(*text) : std::nullopt;
}

// The value of NAME in a file of "NAME NUMBER" lines.
std::optional<std::uint64_t> oom_kills_in(const std::string& path) {
  constexpr std::string_view kName = "oom_kill ";
  const auto text = base::read_file(path, kHealthFileBytesMax);
  if (!text) return std::nullopt;
  for (const std::string_view line : base::split(*text, '\n')) {
    if (!line.starts_with(kName)) continue;
    if (const auto value = base::parse_int<std::uint64_t>(line.substr(kName.size()))) return *value;
  }
  return std::nullopt;
}

class PressureProbe final : public HealthProbe {
 public:
  PressureProbe(const std::string& root, bool oom_too) : proc_(root + "/proc"), oom_too_(oom_too) {
    if (const auto place = own_cgroup("", proc_)) cgroup_ = place->folder;
  }

  std::vector<NodeHealth> look(Nanos now) override {
    PressureReading reading;
    reading.memory = file_pressure(proc_ + "/pressure/memory");
    if (!cgroup_.empty()) reading.processor = file_pressure(cgroup_ + "/cpu.pressure");
    if (oom_too_) reading.oom_kills = oom_kills();
    return history_.take(reading, now);
  }

 private:
  // Those of our own cgroup if it has them: other programs' processes do not concern this job.
  [[nodiscard]] std::optional<std::uint64_t> oom_kills() const {
    if (!cgroup_.empty()) {
      if (const auto own = oom_kills_in(cgroup_ + "/memory.events")) return own;
    }
    return oom_kills_in(proc_ + "/vmstat");
  }

  std::string proc_;
  std::string cgroup_;
  bool oom_too_;
  PressureHistory history_;
};

}  // namespace

std::optional<double> full_pressure(std::string_view text) {
  constexpr std::string_view kFull = "full avg10=";
  for (const std::string_view line : base::split(text, '\n')) {
    if (!line.starts_with(kFull)) continue;
    double value = 0;
    const char* const begin = line.data() + kFull.size();
    const auto parsed = std::from_chars(begin, line.data() + line.size(), value);
    if (parsed.ec == std::errc{} && value >= 0 && value <= 100) return value;
  }
  return std::nullopt;
}

void PressureHistory::follow(Kind& kind, NodeHealth::Source source, std::optional<double> value,
                             double limit, Nanos now, std::vector<NodeHealth>& found) {
  const bool is_over_limit = value.value_or(0) >= limit;
  if (is_over_limit == kind.reported) {
    kind.changed_at.reset();
    return;
  }
  if (!kind.changed_at) kind.changed_at = now;
  if (now - *kind.changed_at < kPressureLasts) return;
  kind.changed_at.reset();
  kind.reported = is_over_limit;
  const char* const what = source == NodeHealth::Source::kMemory ? "memory" : "processors";
  std::string line =
      is_over_limit ? fmt::format("{} pressure: nothing went on in {:.0f} % of the time for {} s",
                                  what, *value, kPressureLasts.count())
                    : fmt::format("{} pressure is below {:.0f} % again", what, limit);
  found.push_back({source, what, std::move(line), 0, !is_over_limit});
}

std::vector<NodeHealth> PressureHistory::take(const PressureReading& reading, Nanos now) {
  std::vector<NodeHealth> found;
  follow(memory_, NodeHealth::Source::kMemory, reading.memory, kMemoryPressureMax, now, found);
  follow(processor_, NodeHealth::Source::kProcessor, reading.processor, kProcessorPressureMax, now,
         found);
  if (reading.oom_kills) {
    if (oom_kills_ && *reading.oom_kills > *oom_kills_) {
      found.push_back({NodeHealth::Source::kMemory, "memory",
                       fmt::format("out of memory: Killed process (counter of the OOM killer: {} "
                                   "more)",
                                   *reading.oom_kills - *oom_kills_),
                       0, false});
    }
    oom_kills_ = reading.oom_kills;
  }
  return found;
}

WatchedProbe pressure_probe(const std::string& root, bool oom_too) {
  return {NodeHealth::Source::kMemory, "the kernel's table of pressure", kPressureInterval,
          std::make_shared<PressureProbe>(root, oom_too)};
}

}  // namespace robustrun::agent
