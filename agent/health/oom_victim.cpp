#include "agent/health/oom_victim.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

constexpr unsigned kGenerationsMax = 256;
constexpr std::size_t kParentageBytesMax = 4096;

// Of proc_pid_stat(5): "PID (NAME) STATE PPID …"; a name may contain anything.
struct Parentage {
  std::string name;
  pid_t parent = 0;
};

std::optional<Parentage> parentage_of(pid_t pid, const std::string& proc) {
  const auto text = base::read_file(fmt::format("{}/{}/stat", proc, pid), kParentageBytesMax);
  if (!text) return std::nullopt;
  const std::size_t begin = text->find('(');
  const std::size_t end = text->rfind(") ");
  if (begin == text->npos || end == text->npos || end < begin) return std::nullopt;
  const auto words = base::split(std::string_view(*text).substr(end + 2), ' ');
  if (words.size() < 2) return std::nullopt;
  const auto parent = base::parse_int<pid_t>(words[1]);
  if (!parent) return std::nullopt;
  return Parentage{text->substr(begin + 1, end - begin - 1), *parent};
}

}  // namespace

std::optional<OomVictim> oom_victim(std::string_view text) {
  constexpr std::string_view kMark = "ut of memory: Killed process ";
  const std::size_t at = text.find(kMark);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + kMark.size());
  const std::size_t space = text.find(" (");
  if (space == text.npos) return std::nullopt;
  const auto pid = base::parse_int<pid_t>(text.substr(0, space));
  text.remove_prefix(space + 2);
  // A comma follows in older kernels.
  const std::size_t end = std::min(text.find(") total-vm"), text.find("), "));
  if (!pid || *pid <= 0) return std::nullopt;
  return OomVictim{*pid, text.substr(0, end == text.npos ? text.find(')') : end)};
}

bool is_below(pid_t ancestor, const OomVictim& victim, const std::string& proc) {
  auto each = parentage_of(victim.pid, proc);
  if (!each || each->name != victim.name) return false;
  for (unsigned i = 0; i < kGenerationsMax && each && each->parent > 1; ++i) {
    if (each->parent == ancestor) return true;
    each = parentage_of(each->parent, proc);
  }
  return false;
}

}  // namespace robustrun::agent
