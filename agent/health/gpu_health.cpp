#include "agent/health/gpu_health.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "agent/health/limits.h"
#include "agent/node/limits.h"
#include "base/core/text.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {
namespace {

using wire::NodeHealth;

constexpr std::string_view kGpuWord = "gpu ";

// Bits of nvmlClocksThrottleReasons (nvml.h) that mean trouble.
constexpr std::pair<std::uint64_t, std::string_view> kThrottleReasons[] = {
    {0x08, "hardware slowdown"},
    {0x20, "software thermal slowdown"},
    {0x40, "hardware thermal slowdown"},
    {0x80, "power brake"},
};

template <class T>
void take_number(std::string_view value, std::optional<T>& place) {
  if (const auto number = base::parse_int<T>(value)) place = *number;
}

void take_bool(std::string_view value, std::optional<bool>& place) {
  if (value == "0" || value == "1") place = value == "1";
}

void take_sensor(std::string_view name, std::string_view value, GpuSensors& sensors) {
  if (name == "pci") sensors.pci = base::printable(value.substr(0, kVersionBytesMax));
  if (name == "ecc") take_number(value, sensors.ecc);
  if (name == "nvlink") take_number(value, sensors.nvlink);
  if (name == "pending") take_bool(value, sensors.remap_pending);
  if (name == "failed") take_bool(value, sensors.remap_failed);
  if (name == "temperature") take_number(value, sensors.temperature_c);
  if (name == "slowdown") take_number(value, sensors.slowdown_c);
  if (name == "throttled") take_number(value, sensors.throttled);
}

std::string name_of_gpu(std::uint32_t index) { return fmt::format("GPU {}", index); }

class GpuFindings {
 public:
  explicit GpuFindings(std::uint32_t index) : name_(name_of_gpu(index)) {}
  void add(std::string_view words, bool over = false) {
    found_.push_back(
        {NodeHealth::Source::kGpu, name_, fmt::format("{} {}", name_, words), 0, over});
  }
  [[nodiscard]] std::vector<NodeHealth> take() { return std::move(found_); }

 private:
  std::string name_;
  std::vector<NodeHealth> found_;
};

// Has become true; at the first look, is true.
bool became(const std::optional<bool>& before, const std::optional<bool>& now) {
  return now.value_or(false) && !before.value_or(false);
}

}  // namespace

base::Result<GpuSensors> parse_gpu_line(std::string_view line) {
  const auto corrupt = [] { return base::fail(base::Errc::kCorrupt, "no line of a GPU"); };
  if (!line.starts_with(kGpuWord)) return corrupt();
  line.remove_prefix(kGpuWord.size());
  constexpr std::string_view kLost = " lost=";
  GpuSensors sensors;
  if (const std::size_t lost = line.find(kLost); lost != line.npos) {
    sensors.lost = base::printable(line.substr(lost + kLost.size(), kFactBytesMax));
    line = line.substr(0, lost);
  }
  const auto words = base::split(line, ' ');
  const auto index = base::parse_int<std::uint32_t>(words.front());
  if (!index || *index >= kGpusMax) return corrupt();
  sensors.index = *index;
  for (const std::string_view word : words) {
    const std::size_t equals = word.find('=');
    if (equals != word.npos) take_sensor(word.substr(0, equals), word.substr(equals + 1), sensors);
  }
  return sensors;
}

std::string gpu_line(const GpuSensors& sensors) {
  std::string line = fmt::format("{}{}", kGpuWord, sensors.index);
  const auto add = [&](std::string_view name, const auto& value) {
    if (value) line += fmt::format(" {}={}", name, static_cast<std::uint64_t>(*value));
  };
  if (!sensors.pci.empty()) line += " pci=" + sensors.pci;
  add("ecc", sensors.ecc);
  add("nvlink", sensors.nvlink);
  add("pending", sensors.remap_pending);
  add("failed", sensors.remap_failed);
  add("temperature", sensors.temperature_c);
  add("slowdown", sensors.slowdown_c);
  add("throttled", sensors.throttled);
  if (!sensors.lost.empty()) line += " lost=" + sensors.lost;
  return line;
}

base::Result<GpuNews> parse_xid_line(std::string_view line) {
  constexpr std::size_t kWord = 0, kIndex = 1, kPci = 2, kCode = 3;
  const auto words = base::split(line, ' ');
  if (words.size() != 4 || words[kWord] != "xid") {
    return base::fail(base::Errc::kCorrupt, "no line of an error");
  }
  const std::uint32_t index = RR_TRY(base::parse_int<std::uint32_t>(words[kIndex]));
  const std::uint32_t code = RR_TRY(base::parse_int<std::uint32_t>(words[kCode]));
  GpuNews news;
  news.pci = base::printable(kernel_bus_id(words[kPci].substr(0, kVersionBytesMax)));
  news.finding = {NodeHealth::Source::kGpu, fmt::format("GPU {}", index),
                  fmt::format("NVRM: Xid (PCI:{}): {}, reported by NVML", news.pci, code), code,
                  false};
  return news;
}

std::string throttle_words(std::uint64_t reasons) {
  std::string words;
  for (const auto& [bit, word] : kThrottleReasons) {
    if ((reasons & bit) == 0) continue;
    if (!words.empty()) words += ", ";
    words += word;
  }
  return words;
}

std::string kernel_bus_id(std::string_view nvml_bus_id) {
  constexpr std::size_t kDomainDigits = 4;
  std::string_view id = nvml_bus_id.substr(0, nvml_bus_id.rfind('.'));
  const std::size_t domain = id.find(':');
  if (domain != id.npos && domain > kDomainDigits) id.remove_prefix(domain - kDomainDigits);
  return std::string(id);
}

std::vector<NodeHealth> GpuHistory::take(const GpuSensors& now) {
  GpuFindings found(now.index);
  Gpu& gpu = gpus_[now.index];
  const GpuSensors before = gpu.last.value_or(GpuSensors{});
  gpu.last = now;
  if (!now.lost.empty()) {
    if (gpu.last->pci.empty()) gpu.last->pci = before.pci;
    gpu.last->ecc = before.ecc;
    gpu.last->nvlink = before.nvlink;
    if (before.lost.empty()) {
      found.add(fmt::format("does not work: GPU is lost, NVML says {}", now.lost));
    }
    return found.take();
  }
  if (!before.lost.empty()) found.add("answers again", true);
  // What was counted before the job is not reported.
  if (now.ecc && before.ecc && *now.ecc > *before.ecc) {
    found.add(fmt::format("uncorrectable ECC error encountered: {} more, {} since its driver began",
                          *now.ecc - *before.ecc, *now.ecc));
  }
  if (became(before.remap_failed, now.remap_failed)) found.add("row remapping failed");
  if (became(before.remap_pending, now.remap_pending)) {
    found.add("row remapping is pending: a reset is needed to repair its memory");
  }
  if (now.nvlink && before.nvlink && *now.nvlink >= *before.nvlink + kNvlinkErrorsMin) {
    found.add(fmt::format("its NVLink error counters grow: {} more", *now.nvlink - *before.nvlink));
  }
  const bool hot = now.temperature_c && now.slowdown_c && *now.slowdown_c > 0 &&
                   *now.temperature_c >= *now.slowdown_c;
  if (hot && !std::exchange(gpu.hot, true)) {
    found.add(fmt::format("is at {} C, its slowdown threshold is {} C", *now.temperature_c,
                          *now.slowdown_c));
  }
  const bool is_cool =
      now.temperature_c && now.slowdown_c && *now.temperature_c + kCooledByC <= *now.slowdown_c;
  if (is_cool && std::exchange(gpu.hot, false)) found.add("has cooled down", true);
  // A short phase is normal under full load.
  const std::string reasons = throttle_words(now.throttled.value_or(0));
  const bool is_other = reasons.empty() == gpu.throttled;
  gpu.other_looks = is_other ? gpu.other_looks + 1 : 0;
  if (gpu.other_looks >= (gpu.throttled ? kUnthrottledLooks : kThrottledLooks)) {
    gpu.throttled = !gpu.throttled;
    gpu.other_looks = 0;
    found.add(gpu.throttled ? "clocks are throttled: " + reasons : "clocks are no longer throttled",
              !gpu.throttled);
  }
  return found.take();
}

std::string GpuHistory::name_of(std::string_view pci) const {
  const auto gpu = std::ranges::find_if(gpus_, [&](const auto& each) {
    return each.second.last && kernel_bus_id(each.second.last->pci) == pci;
  });
  return gpu == gpus_.end() ? std::string() : name_of_gpu(gpu->first);
}

}  // namespace robustrun::agent
