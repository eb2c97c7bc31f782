#include "agent/node/machine.h"

#include <dirent.h>
#include <fmt/core.h>

#include <algorithm>

#include "agent/node/folder.h"
#include "agent/node/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

constexpr const char* kGpus = "/proc/driver/nvidia/gpus";

std::string cpu_folder(unsigned cpu) { return fmt::format("/sys/devices/system/cpu/cpu{}", cpu); }

unsigned lowest(const CpuSet& cpus, unsigned otherwise) {
  return cpus.empty() ? otherwise : *cpus.begin();
}

}  // namespace

std::string Machine::read(const std::string& path) const {
  auto text = base::read_file(root_ + path, kSysfsBytesMax);
  return text ? std::string(base::trim(*text)) : std::string();
}

std::vector<std::string> Machine::list(const std::string& path) const {
  std::vector<std::string> names;
  const Folder folder(::opendir((root_ + path).c_str()));
  if (!folder) return names;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<unsigned> Machine::nodes() const {
  std::vector<unsigned> found;
  for (const unsigned node : parse_cpu_list(read("/sys/devices/system/node/online"))) {
    if (!cpus_of_node(node).empty()) found.push_back(node);
  }
  if (found.empty()) found.push_back(0);
  return found;
}

std::vector<unsigned> Machine::nodes_with_memory() const {
  const std::string folder = "/sys/devices/system/node";
  if (list(folder).empty()) return {};
  const std::string known = read(folder + "/has_memory");
  const CpuSet nodes = parse_cpu_list(known.empty() ? read(folder + "/online") : known);
  return {nodes.begin(), nodes.end()};
}

CpuSet Machine::cpus_of_node(unsigned node) const {
  if (list("/sys/devices/system/node").empty()) return node == 0 ? allowed_ : CpuSet();
  CpuSet cpus = parse_cpu_list(read(fmt::format("/sys/devices/system/node/node{}/cpulist", node)));
  std::erase_if(cpus, [this](unsigned cpu) { return !allowed_.contains(cpu); });
  return cpus;
}

unsigned Machine::core_of(unsigned cpu) const {
  return lowest(parse_cpu_list(read(cpu_folder(cpu) + "/topology/thread_siblings_list")), cpu);
}

unsigned Machine::socket_of(unsigned cpu) const {
  return base::parse_int<unsigned>(read(cpu_folder(cpu) + "/topology/physical_package_id"))
      .value_or(0);
}

unsigned Machine::cache_of(unsigned cpu) const {
  unsigned highest = 0;
  unsigned group = 0;  // without cache files all processors are in one group
  const std::string folder = cpu_folder(cpu) + "/cache/";
  for (const std::string& name : list(folder)) {
    if (!name.starts_with("index")) continue;
    const std::string type = read(folder + name + "/type");
    const auto level = base::parse_int<unsigned>(read(folder + name + "/level"));
    if ((type != "Unified" && type != "Data") || !level || *level <= highest) continue;
    highest = *level;
    group = lowest(parse_cpu_list(read(folder + name + "/shared_cpu_list")), cpu);
  }
  return group;
}

unsigned Machine::node_of_pci(std::string address) const {
  std::ranges::transform(address, address.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto node = base::parse_int<int>(read("/sys/bus/pci/devices/" + address + "/numa_node"));
  // Machines with one node report -1.
  return node && *node > 0 ? static_cast<unsigned>(*node) : 0;
}

// An index, or the beginning of a UUID ("GPU-8932f937").
std::optional<std::size_t> Machine::find_gpu(const std::vector<std::string>& gpus,
                                             std::string_view entry) const {
  if (const auto index = base::parse_int<std::size_t>(entry)) {
    return *index < gpus.size() ? std::optional(*index) : std::nullopt;
  }
  if (!entry.starts_with("GPU-")) return std::nullopt;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::string facts = read(fmt::format("{}/{}/information", kGpus, gpus[i]));
    const std::size_t uuid = facts.find("GPU-");
    if (uuid != std::string::npos && std::string_view(facts).substr(uuid).starts_with(entry)) {
      return i;
    }
  }
  return std::nullopt;
}

std::vector<unsigned> Machine::nodes_of_gpus(
    const std::optional<std::string>& cuda_visible_devices) const {
  const std::vector<std::string> gpus = list(kGpus);
  std::vector<unsigned> found;
  if (!cuda_visible_devices) {
    for (const std::string& gpu : gpus) found.push_back(node_of_pci(gpu));
    return found;
  }
  for (const std::string_view entry : base::split(*cuda_visible_devices, ',')) {
    const auto gpu = find_gpu(gpus, base::trim(entry));
    if (!gpu) break;  // like CUDA: devices after an unknown one are not visible
    found.push_back(node_of_pci(gpus[*gpu]));
  }
  return found;
}

}  // namespace robustrun::agent
