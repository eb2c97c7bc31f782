#include "agent/gpu/gpu_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

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
  if (name == "used_mib") gpu.used_mib = number(value);
  if (name == "pid") {
    if (const auto pid = base::parse_int<pid_t>(value)) gpu.pids.push_back(*pid);
  }
}

bool computes_on(const GpuReading& gpu, std::span<const pid_t> tree) {
  return std::ranges::find_first_of(gpu.pids, tree) != gpu.pids.end();
}

// CUDA takes the beginning of a UUID for the whole.
bool is_visible(const GpuReading& gpu, std::span<const std::string> visible) {
  return visible.empty() || std::ranges::any_of(visible, [&](const std::string& each) {
           return each == std::to_string(gpu.index) ||
                  (each.starts_with("GPU-") && gpu.uuid.starts_with(each));
         });
}

// "0000:3b:00" of the log is "00000000:3b:00.0" of the library.
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
  if (text == record.npos || xid == record.npos) return;
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

}  // namespace

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
  // One read is one record; EPIPE: older ones were overwritten, and the next read goes on.
  for (unsigned i = 0; i < kKernelRecordsMax; ++i) {
    const ssize_t size = ::read(log.get(), buffer.data(), buffer.size());
    if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (size <= 0) return;
    take_record({buffer.data(), static_cast<std::size_t>(size)}, since, gpus);
  }
}

}  // namespace robustrun::agent
