#pragma once
// Do ssh's configuration files say the same about two hosts? The files' texts alone decide, so that
// one `ssh -G` can answer for many hosts.
//
// Host lines tell hosts apart (ssh_config(5), "PATTERNS"): two names that match the same Host lines
// get the same settings, unless a setting depends on the name (HostName, %-tokens). If any part of
// the files is not understood, no two hosts count as alike.
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
  // `texts`: the contents of all files that ssh reads. nullopt: only ssh can tell hosts apart,
  // because of a Match other than `all` and `final all`, unusual syntax such as quotes after Host,
  // or longer lines or more patterns than hosts/limits.h allows.
  static std::optional<SshConfigScope> of(std::span<const std::string> texts);
  [[nodiscard]] bool alike(std::string_view one, std::string_view other) const;

 private:
  // The lines from one Host or Match line to the next.
  struct Block {
    std::vector<std::string> patterns;
    bool personal = false;  // its settings may depend on the host's name
  };

  SshConfigScope() = default;
  bool take_file(std::string_view text);
  bool take_line(std::string_view line, std::size_t& block);
  bool begin_block(std::string_view patterns);

  // The first block holds the settings for all hosts: those before the first Host line, and those
  // after Match.
  std::vector<Block> blocks_ = {{{"*"}, false}};
  std::size_t patterns_ = 0;
};

// A name that ssh does not rewrite: no capitals, no address in a non-canonical form.
[[nodiscard]] bool is_plain_host_name(std::string_view name);

}  // namespace robustrun::launcher
