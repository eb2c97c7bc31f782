#pragma once
// Do ssh's configuration files say the same about two hosts? Decided from their texts alone, so
// that one `ssh -G` can answer for many hosts.
//
// Host lines tell hosts apart (ssh_config(5), "PATTERNS"): two names that match the same Host lines
// get the same settings, unless a setting depends on the name (HostName, %-tokens). Errs on the
// safe side: anything that is not understood makes every host a separate case.
//
// Pure: opens no file, looks up no name.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::launcher {

class SshConfigScope {
 public:
  // `texts`: of every file that ssh reads. nullopt if only ssh can tell hosts apart: a Match other
  // than `all` and `final all`, unusual syntax such as quotes after Host, longer lines or more
  // patterns than hosts/limits.h allows.
  static std::optional<SshConfigScope> of(std::span<const std::string> texts);
  [[nodiscard]] bool alike(std::string_view one, std::string_view other) const;

 private:
  // From one Host or Match line to the next.
  struct Block {
    std::vector<std::string> patterns;
    bool personal = false;  // may mean something different for each name
  };

  SshConfigScope() = default;
  bool take_file(std::string_view text);
  bool take_line(std::string_view line, std::size_t& block);
  bool begin_block(std::string_view patterns);

  // The first block holds what applies to all hosts: before the first Host line, or after Match.
  std::vector<Block> blocks_ = {{{"*"}, false}};
  std::size_t patterns_ = 0;
};

// A name that ssh does not rewrite: no capitals, no address in a non-canonical form.
[[nodiscard]] bool is_plain_host_name(std::string_view name);

}  // namespace robustrun::launcher
