#pragma once
// Which process the kernel's OOM killer ended, by the kernel's log, and whether it is one of this
// run. The log names every victim on the machine, and those of other containers.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace robustrun::agent {

struct OomVictim {
  pid_t pid = 0;
  std::string_view name;  // part of the text
};

// Of "Out of memory: Killed process 4711 (python3) total-vm:…" and the like; nullopt for any other
// text.
[[nodiscard]] std::optional<OomVictim> oom_victim(std::string_view text);

// True if the victim is still there, with that name, below the process `ancestor`. A process of
// another pid namespace that has the same number has another name, as a rule.
[[nodiscard]] bool is_below(pid_t ancestor, const OomVictim& victim, const std::string& proc);

}  // namespace robustrun::agent
