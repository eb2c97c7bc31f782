#pragma once
// The content of a run's versions (core/types/versions.h), in `<run>/versions/N/`: the code, and
// the rest in the file `held` (0600). An environment may hold secrets, so it is never journaled.
//
// `robustrun update` puts an update into a new folder `new.XXXXXX` beside the versions; the
// supervisor gives it a number. A version holds all differences to the run as it was started, not
// only those of the last update. The functions block, but not for long: only the command line
// copies code.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "wire/messages/orders.h"

namespace robustrun::supervisor {

struct VersionContent {
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> unset;        // names
  bool has_arguments = false;
  std::vector<std::string> arguments;    // of the script, all of them
  std::string script;                    // within the code
  std::string code_digest;               // hex; empty: the code that the run was started with
  std::uint32_t code_of = 0;             // the version in whose folder the code is
  template <class V>
  void fields(V& v) {
    v(1, "environment", environment);
    v(2, "unset", unset);
    v(3, "has_arguments", has_arguments);
    v(4, "arguments", arguments);
    v(5, "script", script);
    v(6, "code_digest", code_digest);
    v(7, "code_of", code_of);
  }
  bool operator==(const VersionContent&) const = default;
};

// An update before it has a number.
struct StagedUpdate {
  VersionContent changes;          // against the previous version
  std::vector<std::string> words;  // the same for people, without secrets
  template <class V>
  void fields(V& v) {
    v(1, "changes", changes);
    v(2, "words", words);
  }
};

// Makes a folder for an update; returns its name below versions_folder(). The command puts the code
// into `code` in that folder, and the list of its files into `code.files`.
[[nodiscard]] base::Result<std::string> make_stage(const std::string& run_directory);
[[nodiscard]] std::string versions_folder(const std::string& run_directory);
[[nodiscard]] base::Status save_stage(const std::string& run_directory, const std::string& stage,
                                      const StagedUpdate& update);
void drop_stage(const std::string& run_directory, const std::string& stage);

// `before` with `changes` applied; `number`: that of the new version. Pure.
[[nodiscard]] VersionContent merged(VersionContent before, const VersionContent& changes,
                                    std::uint32_t number);
// Turns the folder `stage` into version `number`: its changes are applied to version `before`.
// Returns the update. kInvalidArgument with a sentence: `stage` is no folder's name from
// make_stage(), or the update is not valid or changes nothing. kNotFound: the folder holds no
// update. kLimit, kCorrupt, kPermission, kOs.
[[nodiscard]] base::Result<StagedUpdate> adopt_stage(const std::string& run_directory,
                                                     const std::string& stage, std::uint32_t before,
                                                     std::uint32_t number);
// The content of a version; version 0 is empty.
[[nodiscard]] base::Result<VersionContent> load_version(const std::string& run_directory,
                                                        std::uint32_t number);
[[nodiscard]] wire::WorkerVersion to_message(const std::string& run_directory, std::uint32_t number,
                                             const VersionContent& content);

// kInvalidArgument with a sentence for a variable that no update may set or unset: one that tells
// workers their place, or one of robustrun's own.
[[nodiscard]] base::Status check_variable(std::string_view name);

}  // namespace robustrun::supervisor
