#pragma once
// Which snapshot of dependencies fits: one key for all that decides what an installation makes.
// Pure; docs/formats/snapshot-key.md is the definition.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "bootstrap/deps/inputs.h"

namespace robustrun::bootstrap {

struct SnapshotFacts {
  DepsKind kind = DepsKind::kRequirements;
  std::string digest{};                 // SnapshotInputs::digest
  std::vector<std::string> command{};   // --setup-cmd
  std::string directory{};              // in which it runs, where that counts; else empty
  std::string interpreter{};            // absolute path: installed programs name it
  std::string abi{};                    // as parse_abi() gives it
  std::string image{};                  // key of the image that workers run in; empty: none
  bool is_container = false;            // the image is their root, with its libraries
  std::string driver{};                 // major version of NVIDIA's; empty: none
  std::vector<std::string> index{};     // index_variables()
};

// What is hashed; its first line has the version of the format.
[[nodiscard]] std::string encode_facts(const SnapshotFacts& facts);
// 32 lower-case hex digits: SHA-256 of that, cut.
[[nodiscard]] std::string snapshot_key(const SnapshotFacts& facts);

// The program, for `interpreter -I -S -c`, that says its ABI, and the check of what it said: one
// line each for implementation, version, extension ABI, platform and libc. kCorrupt otherwise.
[[nodiscard]] std::string_view abi_question();
[[nodiscard]] base::Result<std::string> parse_abi(std::string_view answer);
// "3.11", of that.
[[nodiscard]] std::string minor_version(std::string_view abi);

// Variables of pip and uv that say where packages are looked for and which are taken, without names
// and passwords in their URLs: those change while the packages stay the same.
[[nodiscard]] std::vector<std::string> index_variables(const std::vector<std::string>& environment);

// "550", of /proc/driver/nvidia/version; empty if that is none.
[[nodiscard]] std::string driver_major(std::string_view text);

}  // namespace robustrun::bootstrap
