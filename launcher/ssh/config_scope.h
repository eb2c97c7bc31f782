#pragma once
// Do ssh's configuration files say the same about two hosts? Told from their texts alone, so that
// one `ssh -G` can answer for many.
//
// Hosts are told apart by Host lines (ssh_config(5), "PATTERNS"), so two names that the same ones
// take get the same lines; what such a line means must not depend on the name either (HostName,
// %-tokens). Errs on one side: whatever is not understood makes every host a case of its own.
//
// Pure: no file is opened, no name looked up.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::launcher {

class SshConfigScope {
 public:
  // `texts`: of every file that ssh reads. None where only ssh can tell hosts apart: a Match other
  // than all, quotes or other odd writing, more than host_limits.h allows.
  static std::optional<SshConfigScope> of(std::span<const std::string> texts);
  [[nodiscard]] bool alike(std::string_view one, std::string_view other) const;

 private:
  // From a Host line to the next.
  struct Block {
    std::vector<std::string> patterns;
    bool personal = false;  // may mean something else for each name that it takes
  };

  SshConfigScope() = default;
  bool take_file(std::string_view text);
  bool take_line(std::string_view line, std::size_t& block);
  bool begin_block(std::string_view patterns);

  // The first one is what stands outside of all Host lines.
  std::vector<Block> blocks_ = {{{"*"}, false}};
  std::size_t patterns_ = 0;
};

// A name that ssh takes as it is written: no capitals, no address in another than its plain form.
[[nodiscard]] bool is_plain_host_name(std::string_view name);

}  // namespace robustrun::launcher
